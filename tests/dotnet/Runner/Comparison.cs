using System;
using System.Globalization;

namespace Runner
{
    /// <summary>How far apart two outputs may be.</summary>
    static class Comparison
    {
        const double Largest = 65504;

        /// <summary>The same numbers.</summary>
        public static void Same(string what, double[] computed, double[] expected)
        {
            Each(what, computed, expected, (a, b) => a.Equals(b) || a == b);
        }

        /// <summary>The same kernels elsewhere: one step of a 16-bit number, or of an 8-bit output.</summary>
        public static double OneStep(string what, double[] computed, double[] expected, double scale)
        {
            return Each(what, computed, expected,
                        (a, b) => a.Equals(b) ||
                                  Math.Abs(a - b) <= (scale > 0 ? 1.001 * scale : HalfStep(Math.Max(Math.Abs(a), Math.Abs(b)))));
        }

        /// <summary>Other arithmetic: 1e-4 + 4e-3 max|b| + 1e-2 |b|; of 8 bits one step; a NaN is skipped, an infinity counts
        /// as the largest 16-bit number.</summary>
        public static double Reference(string what, double[] computed, double[] expected, double scale, bool real)
        {
            double largest = 0;

            foreach (double b in expected)
                if (!double.IsNaN(b) && !double.IsInfinity(b))
                    largest = Math.Max(largest, Math.Abs(b));
            return Each(what, computed, expected, (a, b) =>
            {
                if (double.IsNaN(b))
                    return true;
                if (double.IsInfinity(b))
                {
                    b = Math.Sign(b) * Largest;
                    a = double.IsInfinity(a) ? Math.Sign(a) * Largest : a;
                }
                if (scale > 0)
                    return Math.Abs(a - b) <= 1.001 * scale;
                return real ? Math.Abs(a - b) <= 1e-4 + 4e-3 * largest + 1e-2 * Math.Abs(b) : a == b;
            });
        }

        static double HalfStep(double v)
        {
            return v < 1.0 / 16384 ? 1.0 / 16777216 : Math.Pow(2, Math.Floor(Math.Log(v, 2)) - 10);
        }

        /// <summary>The largest difference of all.</summary>
        static double Each(string what, double[] computed, double[] expected, Func<double, double, bool> near)
        {
            int wrong = 0, first = -1;
            double most = 0;

            if (computed.Length != expected.Length)
                throw new CheckException(what + ": " + computed.Length + " values instead of " + expected.Length);
            for (int i = 0; i < computed.Length; i++)
            {
                if (!near(computed[i], expected[i]) && wrong++ == 0)
                    first = i;
                if (Math.Abs(computed[i] - expected[i]) > most)
                    most = Math.Abs(computed[i] - expected[i]);
            }
            if (wrong > 0)
                throw new CheckException(string.Format(CultureInfo.InvariantCulture,
                                                       "{0}: {1} of {2} values differ, the first is element {3}: {4:R} instead of {5:R}",
                                                       what, wrong, computed.Length, first, computed[first], expected[first]));
            return most;
        }
    }
}
