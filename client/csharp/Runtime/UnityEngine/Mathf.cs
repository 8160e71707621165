using System;

namespace UnityEngine
{
    /// <summary>
    /// The functions that kernels may call, as Unity defines them: computed in float64 and rounded once; Round is half to
    /// even; Sign of 0 is 1; Min, Max and Clamp are comparisons, which decide what a NaN becomes.
    /// </summary>
    public static class Mathf
    {
        public const float PI = 3.14159274f;
        public const float Infinity = float.PositiveInfinity;
        public const float NegativeInfinity = float.NegativeInfinity;

        public static float Abs(float f) { return Math.Abs(f); }
        public static int Abs(int value) { return Math.Abs(value); }
        public static float Acos(float f) { return (float)Math.Acos(f); }
        public static float Asin(float f) { return (float)Math.Asin(f); }
        public static float Atan(float f) { return (float)Math.Atan(f); }
        public static float Atan2(float y, float x) { return (float)Math.Atan2(y, x); }
        public static float Ceil(float f) { return (float)Math.Ceiling(f); }
        public static float Clamp(float value, float min, float max) { return value < min ? min : value > max ? max : value; }
        public static int Clamp(int value, int min, int max) { return value < min ? min : value > max ? max : value; }
        public static float Cos(float f) { return (float)Math.Cos(f); }
        public static float Exp(float power) { return (float)Math.Exp(power); }
        public static float Floor(float f) { return (float)Math.Floor(f); }
        public static float Log(float f) { return (float)Math.Log(f); }
        public static float Max(float a, float b) { return a > b ? a : b; }
        public static int Max(int a, int b) { return a > b ? a : b; }
        public static float Min(float a, float b) { return a < b ? a : b; }
        public static int Min(int a, int b) { return a < b ? a : b; }
        public static float Pow(float f, float p) { return (float)Math.Pow(f, p); }
        public static float Round(float f) { return (float)Math.Round(f); }
        public static float Sign(float f) { return f >= 0f ? 1f : -1f; }
        public static float Sin(float f) { return (float)Math.Sin(f); }
        public static float Sqrt(float f) { return (float)Math.Sqrt(f); }
        public static float Tan(float f) { return (float)Math.Tan(f); }
    }
}
