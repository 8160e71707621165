using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using Tsukimi.Preview;

namespace Tsukimi
{
    /// <summary>
    /// Which method a kernel's name means. The target resolves nameof() when it compiles; here only the name is left. Where
    /// one class alone has a kernel of that name, it is that one. Several classes may have a FilterLayer0, though; then, in
    /// this order, it is that of
    ///
    ///  1. the class that <see cref="Device.Owner"/> names;
    ///  2. the class whose code created the destination (generated code fills only buffers that it created);
    ///  3. the class whose code is calling Gpu.Run.
    ///
    /// The last two are read off the stack, where optimised code may leave methods out: small ones become part of their
    /// caller, and a call at the end of a method, as the last step of RunFilter is, becomes a jump. Hence the order, since
    /// the result of Gpu.Buffer is stored, and Device.Owner for who needs to be sure.
    /// </summary>
    static class KernelSearch
    {
        const BindingFlags Static =
            BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

        static readonly object gate = new object();
        static readonly HashSet<Assembly> scanned = new HashSet<Assembly>();
        static readonly Dictionary<string, List<MethodInfo>> byName = new Dictionary<string, List<MethodInfo>>();

        public static MethodInfo Find(string kernel, GpuBuffer2D destination)
        {
            if (Device.Owner != null)
                for (Type type = Device.Owner; type != null; type = type.DeclaringType)
                    foreach (MethodInfo method in Closed(type).GetMethods(Static))
                        if (method.Name == kernel && method.IsDefined(typeof(KernelAttribute), false))
                            return method;
            MethodInfo[] all = Named(kernel);
            if (all.Length == 0)
                throw new MissingMethodException("no class has a [Kernel] method " + kernel);
            MethodInfo found = all.Length == 1 ? all[0] : Among(all, destination.Owners) ?? Among(all, CallingTypes());
            if (found == null)
                throw new AmbiguousMatchException(all.Length + " classes have a [Kernel] method " + kernel +
                                                  ": set Device.Owner to the one that is meant");
            return found.ContainsGenericParameters || found.DeclaringType.ContainsGenericParameters
                       ? Closed(found.DeclaringType).GetMethod(kernel, Static)
                       : found;
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
                yield return type.IsGenericType ? type.GetGenericTypeDefinition() : type;
        }

        static MethodInfo Among(MethodInfo[] methods, Type[] types)
        {
            foreach (Type type in types)
                foreach (MethodInfo method in methods)
                    if (method.DeclaringType == type)
                        return method;
            return null;
        }

        /// <summary>All kernels of that name, in what is loaded by now.</summary>
        static MethodInfo[] Named(string kernel)
        {
            lock (gate)
            {
                foreach (Assembly assembly in AppDomain.CurrentDomain.GetAssemblies())
                    if (scanned.Add(assembly) && UsesThis(assembly))
                        foreach (Type type in assembly.GetTypes())
                            foreach (MethodInfo method in type.GetMethods(Static))
                                if (method.IsDefined(typeof(KernelAttribute), false))
                                    Add(method);
                return byName.TryGetValue(kernel, out List<MethodInfo> methods) ? methods.ToArray() : new MethodInfo[0];
            }
        }

        static bool UsesThis(Assembly assembly)
        {
            if (!assembly.IsDynamic)
                foreach (AssemblyName name in assembly.GetReferencedAssemblies())
                    if (name.Name == typeof(Gpu).Assembly.GetName().Name)
                        return true;
            return false;
        }

        static void Add(MethodInfo method)
        {
            if (!byName.TryGetValue(method.Name, out List<MethodInfo> methods))
                byName.Add(method.Name, methods = new List<MethodInfo>());
            methods.Add(method);
        }

        /// <summary>Kernels cannot depend on the arguments of a generic class, so any that its constraints allow will do.</summary>
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
            catch (ArgumentException)
            {
                throw new NotSupportedException(type + " does not take object: set Device.Owner to a closed form of it");
            }
        }
    }
}
