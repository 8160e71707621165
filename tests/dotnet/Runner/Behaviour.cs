using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Text.RegularExpressions;
using Tsukimi;
using Tsukimi.Preview;
using UnityEngine;

namespace Runner
{
    /// <summary>One object of a class with a generated part, by reflection: the generated members are private.</summary>
    sealed class Behaviour
    {
        const BindingFlags Any = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

        readonly object instance;
        readonly string prefix;
        readonly Action load, run;
        readonly Action<int, int> runSome;

        public int Steps { get; }

        /// <summary>Assigns the weight assets as an inspector would, and loads.</summary>
        public Behaviour(Type type, string prefix, string folder)
        {
            this.prefix = prefix;
            instance = Activator.CreateInstance(type);
            Steps = (int)Member(type.GetField(prefix + "Steps"), prefix + "Steps").GetRawConstantValue();
            load = (Action)Method("Load" + prefix).CreateDelegate(typeof(Action), instance);
            run = (Action)Method("Run" + prefix).CreateDelegate(typeof(Action), instance);
            runSome = (Action<int, int>)Method("Run" + prefix, typeof(int), typeof(int))
                .CreateDelegate(typeof(Action<int, int>), instance);
            foreach (FieldInfo field in type.GetFields(Any))
            {
                if (field.FieldType != typeof(Texture2D) || !field.Name.StartsWith(prefix + "w"))
                    continue;
                string[] assets = Directory.GetFiles(folder, "*." + prefix + "." + field.Name.Substring(prefix.Length) + ".asset");
                if (assets.Length != 1 || !File.Exists(assets[0] + ".meta"))
                    throw new CheckException(field.Name + ": " + assets.Length + " assets, or no .meta");
                field.SetValue(instance, WeightAsset.Read(assets[0]));
            }
            load();
        }

        static T Member<T>(T member, string name) where T : class
        {
            return member ?? throw new CheckException("the class has no " + name);
        }

        MethodInfo Method(string name, params Type[] parameters)
        {
            return Member(instance.GetType().GetMethod(name, Any, null, parameters, null), name);
        }

        public GpuBuffer2D Buffer(string field)
        {
            return (GpuBuffer2D)Member(instance.GetType().GetField(field), field).GetValue(instance) ??
                   throw new CheckException(field + " is null after loading");
        }

        /// <summary>Takes the weights of that style, after those of others; what is out of range changes nothing. Style 0 is as
        /// loading left it.</summary>
        public void Use(int style)
        {
            var styles = (int?)instance.GetType().GetField(prefix + "Styles")?.GetRawConstantValue();
            MethodInfo use = instance.GetType().GetMethod("Use" + prefix, Any);

            if ((styles == null) != (use == null) || styles < 2 || style > 0 && !(style < styles))
                throw new CheckException("Use" + prefix + " and " + prefix + "Styles do not fit");
            if (style > 0)
                foreach (int other in new[] { styles.Value - 1, 0, style })
                    use.Invoke(instance, new object[] { other });
            foreach (int wrong in new[] { -1, styles ?? 0, int.MaxValue, int.MinValue })
                use?.Invoke(instance, new object[] { wrong });
        }

        /// <summary>Set…Tokens of that input of the model; false where there is none.</summary>
        public bool SetTokens(int number, TensorFile ids)
        {
            MethodInfo method = instance.GetType().GetMethod("Set" + prefix + "Tokens" + (number == 0 ? "" : number.ToString()), Any);

            method?.Invoke(instance, new object[] { Array.ConvertAll(ids.Values, v => (int)v) });
            return method != null;
        }

        /// <summary>Fills every buffer between the steps, and the outputs: nothing may depend on what is in them.</summary>
        public void Spoil(float with)
        {
            var spoilt = new Regex("^" + prefix + @"(b\d+|Output\w*)$");

            foreach (FieldInfo field in instance.GetType().GetFields(Any))
            {
                if (field.FieldType != typeof(GpuBuffer2D) || !spoilt.IsMatch(field.Name))
                    continue;
                var buffer = (GpuBuffer2D)field.GetValue(instance);
                for (int y = 0; y < buffer.Height; y++)
                    for (int x = 0; x < buffer.Width; x++)
                        buffer[x, y] = new Color4(with, with, with, with);
            }
        }

        public void Run()
        {
            run();
        }

        public void Run(int first, int count)
        {
            runSome(first, count);
        }
    }
}
