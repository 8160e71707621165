using System;
using System.Collections.Concurrent;
using System.Linq.Expressions;
using System.Reflection;
using UnityEngine;

namespace Tsukimi
{
    /// <summary>A kernel method, checked against what the target allows, and compiled into a loop over cells.</summary>
    sealed class Kernel
    {
        static readonly ConcurrentDictionary<MethodInfo, Kernel> known = new ConcurrentDictionary<MethodInfo, Kernel>();

        readonly string name;
        readonly ParameterInfo[] parameters; // after KernelId
        readonly int[] capacities;           // of tables, 0 for buffers
        readonly Action<GpuBuffer2D, object[]> loop;

        public static Kernel Of(MethodInfo method)
        {
            return known.GetOrAdd(method, m => new Kernel(m));
        }

        Kernel(MethodInfo method)
        {
            ParameterInfo[] all = method.GetParameters();

            name = method.DeclaringType + "." + method.Name;
            if (method.ReturnType != typeof(Color4) || all.Length == 0 || all[0].ParameterType != typeof(KernelId))
                throw new InvalidOperationException(name + ": a kernel returns Color4 and takes a KernelId first");
            parameters = new ParameterInfo[all.Length - 1];
            capacities = new int[parameters.Length];
            for (int i = 0; i < parameters.Length; i++)
            {
                var capacity = all[i + 1].GetCustomAttribute<CapacityAttribute>();

                parameters[i] = all[i + 1];
                if (parameters[i].ParameterType == typeof(Vector4[]) && capacity != null)
                    capacities[i] = capacity.Count;
                else if (parameters[i].ParameterType != typeof(GpuBuffer2D) || capacity != null)
                    throw new InvalidOperationException(name + ": parameter " + parameters[i].Name +
                                                        " is neither a GpuBuffer2D nor a [Capacity(n)] Vector4[]");
            }
            loop = Compile(method);
        }

        public void Run(GpuBuffer2D destination, object[] arguments)
        {
            if (arguments.Length != parameters.Length)
                throw new ArgumentException(name + " takes " + parameters.Length + " arguments, not " + arguments.Length);
            for (int i = 0; i < arguments.Length; i++)
            {
                if (arguments[i] == null || arguments[i].GetType() != parameters[i].ParameterType)
                    throw new ArgumentException(name + ": argument " + parameters[i].Name + " is a " +
                                                parameters[i].ParameterType.Name + ", not " +
                                                (arguments[i] == null ? "null" : "a " + arguments[i].GetType().Name));
                if (ReferenceEquals(arguments[i], destination))
                    throw new ArgumentException(name + ": argument " + parameters[i].Name + " is also the destination");
                if (capacities[i] > 0 && ((Vector4[])arguments[i]).Length > capacities[i])
                    throw new ArgumentException(name + ": table " + parameters[i].Name + " has " +
                                                ((Vector4[])arguments[i]).Length + " entries, its capacity is " +
                                                capacities[i]);
            }
            try
            {
                loop(destination, arguments);
            }
            catch (Exception e) when (e is IndexOutOfRangeException || e is DivideByZeroException)
            {
                throw new InvalidOperationException(name + ": " + e.Message, e);
            }
        }

        /// <summary>for each y, for each x: destination[x, y] = method(new KernelId { x = x, y = y }, arguments…)</summary>
        static Action<GpuBuffer2D, object[]> Compile(MethodInfo method)
        {
            ParameterInfo[] taken = method.GetParameters();
            ParameterExpression destination = Expression.Parameter(typeof(GpuBuffer2D), "destination");
            ParameterExpression arguments = Expression.Parameter(typeof(object[]), "arguments");
            ParameterExpression x = Expression.Variable(typeof(int), "x"), y = Expression.Variable(typeof(int), "y");
            var locals = new ParameterExpression[taken.Length + 1];
            var values = new Expression[taken.Length];
            var body = new Expression[taken.Length + 1];

            for (int i = 1; i < taken.Length; i++)
            {
                locals[i - 1] = Expression.Variable(taken[i].ParameterType, taken[i].Name);
                values[i] = locals[i - 1];
                body[i - 1] = Expression.Assign(locals[i - 1],
                                                Expression.Convert(Expression.ArrayIndex(arguments, Expression.Constant(i - 1)),
                                                                   taken[i].ParameterType));
            }
            locals[taken.Length - 1] = x;
            locals[taken.Length] = y;
            values[0] = Expression.MemberInit(Expression.New(typeof(KernelId)),
                                              Expression.Bind(typeof(KernelId).GetField("x"), x),
                                              Expression.Bind(typeof(KernelId).GetField("y"), y));
            Expression cell = Expression.Property(destination, typeof(GpuBuffer2D).GetProperty("Item"), x, y);
            body[taken.Length - 1] = Count(y, Expression.Property(destination, "Height"),
                                           Count(x, Expression.Property(destination, "Width"),
                                                 Expression.Assign(cell, Expression.Call(method, values))));
            body[taken.Length] = Expression.Empty();
            return Expression.Lambda<Action<GpuBuffer2D, object[]>>(Expression.Block(locals, body), destination, arguments)
                .Compile();
        }

        static Expression Count(ParameterExpression i, Expression end, Expression body)
        {
            LabelTarget done = Expression.Label();

            return Expression.Block(Expression.Assign(i, Expression.Constant(0)),
                                    Expression.Loop(Expression.IfThenElse(Expression.LessThan(i, end),
                                                                          Expression.Block(body, Expression.PreIncrementAssign(i)),
                                                                          Expression.Break(done)),
                                                    done));
        }
    }
}
