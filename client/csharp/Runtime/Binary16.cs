using System;

namespace Tsukimi
{
    /// <summary>IEEE 754 binary16, as Half cells and RGBAHalf textures hold it. Denormals are real.</summary>
    static class Binary16
    {
        const int Infinity = 0x7C00;
        const int Largest = 0x7BFF; // 65504

        /// <summary>The 16-bit value next to a float32: the nearest, ties to even, where 65520 and more is infinity; or the
        /// next toward zero, where what is finite stays so.</summary>
        public static ushort FromSingle(float value, bool towardZero)
        {
            int bits = BitConverter.SingleToInt32Bits(value);
            int sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7FFFFFFF;
            int kept, shift;

            if (magnitude > 0x7F800000)
                return (ushort)(sign | 0x7E00);
            if (magnitude >= 0x47800000) // 65536
                return (ushort)(sign | (towardZero && magnitude < 0x7F800000 ? Largest : Infinity));
            if (magnitude >= 0x38800000) // 2^-14: the exponent's bias goes from 127 to 15
            {
                kept = magnitude - (112 << 23);
                shift = 13;
            }
            else
            {
                kept = (magnitude & 0x7FFFFF) | 0x800000;
                shift = 126 - (magnitude >> 23); // to units of 2^-24
                if (shift > 24)
                    return (ushort)sign;
            }
            int rest = kept & ((1 << shift) - 1), half = 1 << (shift - 1);
            kept >>= shift;
            if (!towardZero && (rest > half || (rest == half && (kept & 1) != 0)))
                kept++;
            return (ushort)(sign | kept);
        }

        public static float ToSingle(ushort half)
        {
            int sign = (half & 0x8000) << 16, exponent = (half >> 10) & 31, fraction = half & 0x3FF;

            if (exponent == 0)
                return (sign < 0 ? -1f : 1f) * fraction * (1f / 16777216f);
            if (exponent == 31)
                return BitConverter.Int32BitsToSingle(sign | 0x7F800000 | (fraction << 13));
            return BitConverter.Int32BitsToSingle(sign | ((exponent + 112) << 23) | (fraction << 13));
        }

        public static float Round(float value, bool towardZero)
        {
            return ToSingle(FromSingle(value, towardZero));
        }
    }
}
