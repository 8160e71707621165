using System;

namespace Tsukimi
{
    /// <summary>Base class of the user's scripts.</summary>
    public class TsukimiBehaviour
    {
    }

    public struct Color4
    {
        public float r, g, b, a;

        public Color4(float r, float g, float b, float a)
        {
            this.r = r;
            this.g = g;
            this.b = b;
            this.a = a;
        }

        public override string ToString()
        {
            return FormattableString.Invariant($"({r}, {g}, {b}, {a})");
        }
    }

    /// <summary>The cell that this invocation of a kernel computes.</summary>
    public struct KernelId
    {
        public int x, y;
    }

    [AttributeUsage(AttributeTargets.Method)]
    public sealed class KernelAttribute : Attribute
    {
    }

    /// <summary>How many entries a table has room for.</summary>
    [AttributeUsage(AttributeTargets.Parameter)]
    public sealed class CapacityAttribute : Attribute
    {
        internal readonly int Count;

        public CapacityAttribute(int n)
        {
            Count = n;
        }
    }

    /// <summary>Asks for the rest of a class to be generated from models. Paths are relative to the script.</summary>
    [AttributeUsage(AttributeTargets.Class, AllowMultiple = true)]
    public sealed class OnnxGpuAttribute : Attribute
    {
        internal readonly string[] Models;

        public OnnxGpuAttribute(params string[] models)
        {
            Models = models;
        }
    }
}
