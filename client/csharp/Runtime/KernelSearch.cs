using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using Tsukimi.Preview;

namespace Tsukimi
{
    /// <summary>
    /// Which method a kernel's name means. The target resolves nameof() when it compiles; here only the name is left, and
    /// several classes may have a FilterLayer0. In this order:
    ///
    ///  1. the class that <see cref="Device.Owner"/> names;
    ///  2. the classes whose code created the destination (generated code fills only buffers that it created);
    ///  3. the classes whose code is calling Gpu.Run.
    ///
    /// The caller comes last because it may be missing from the stack: a call at the end of a method, as the last step of
    /// RunFilter is, may be compiled into a jump. A call of Gpu.Buffer is not at an end, since its result is stored.
    /// </summary>
    static class KernelSearch
    {
        static readonly ConcurrentDictionary<(Type, string), MethodInfo> known =
            new ConcurrentDictionary<(Type, string), MethodInfo>();

        public static MethodInfo Find(string kernel, GpuBuffer2D destination)
        {
            MethodInfo method = null;

            if (Device.Owner != null)
                method = Among(kernel, Around(Device.Owner));
            if (method == null)
                method = Among(kernel, destination.Owners);
            if (method == null)
                method = Among(kernel, CallingTypes());
            if (method == null)
                throw new MissingMethodException("there is no [Kernel] method " + kernel +
                                                 " in the class that called Gpu.Run (Device.Owner can name it)");
            return method;
        }

        /// <summary>Types of the methods that are running, and those around them, without this library and the framework.</summary>
        public static Type[] CallingTypes()
        {
            var types = new List<Type>();
            var trace = new StackTrace(1, false);

            for (int i = 0; i < trace.FrameCount; i++)
            {
                Type type = trace.GetFrame(i).GetMethod()?.DeclaringType;

                if (type == null || type.Assembly == typeof(Gpu).Assembly || type.Assembly == typeof(object).Assembly)
                    continue;
                foreach (Type around in Around(type))
                    if (!types.Contains(around))
                        types.Add(around);
            }
            return types.ToArray();
        }

        /// <summary>A nested type, as those that lambdas and iterators become, then what it is nested in.</summary>
        static IEnumerable<Type> Around(Type type)
        {
            for (; type != null; type = type.DeclaringType)
                yield return type;
        }

        static MethodInfo Among(string kernel, IEnumerable<Type> types)
        {
            foreach (Type type in types)
            {
                MethodInfo method = known.GetOrAdd((type, kernel), Declared);
                if (method != null)
                    return method;
            }
            return null;
        }

        static MethodInfo Declared((Type type, string kernel) key)
        {
            const BindingFlags all =
                BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

            foreach (MethodInfo method in Closed(key.type).GetMethods(all))
                if (method.Name == key.kernel && method.IsDefined(typeof(KernelAttribute), false))
                    return method;
            return null;
        }

        /// <summary>A stack frame names a generic class without its arguments; kernels cannot depend on them, so any do.</summary>
        static Type Closed(Type type)
        {
            if (!type.ContainsGenericParameters)
                return type;
            Type[] arguments = type.GetGenericArguments();
            for (int i = 0; i < arguments.Length; i++)
                arguments[i] = typeof(object);
            try
            {
                return type.GetGenericTypeDefinition().MakeGenericType(arguments);
            }
            catch (ArgumentException) // constrained to something else
            {
                throw new NotSupportedException(type + " is generic with constraints: set Device.Owner to a closed form of it");
            }
        }
    }
}
