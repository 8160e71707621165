using System;
using Tsukimi.Preview;

namespace Tsukimi
{
    /// <summary>4 x 8-bit unsigned normalised, or 4 x 16-bit floating point.</summary>
    public enum GpuFormat
    {
        Byte,
        Half,
    }

    /// <summary>
    /// A texture that kernels read and write, all zero when made. A cell is held as the number that a read of it gives, so
    /// rounding happens once, when it is written.
    /// </summary>
    public sealed class GpuBuffer2D
    {
        const int LargestSide = 16384;

        readonly Color4[] cells;

        /// <summary>Types whose code asked for this buffer, innermost first: among them is the one whose kernels fill it.</summary>
        internal readonly Type[] Owners;
        internal readonly GpuFormat Format;

        public int Width { get; }
        public int Height { get; }

        internal GpuBuffer2D(int width, int height, GpuFormat format, Type[] owners)
        {
            if (width < 1 || height < 1 || width > LargestSide || height > LargestSide)
                throw new ArgumentException("a buffer of " + width + " by " + height + " cells: each side is 1 to " +
                                            LargestSide);
            Width = width;
            Height = height;
            Format = format;
            Owners = owners;
            cells = new Color4[width * height];
        }

        public Color4 this[int x, int y]
        {
            get { return cells[Index(x, y)]; }
            set
            {
                ref Color4 cell = ref cells[Index(x, y)];
                if (Format == GpuFormat.Half)
                {
                    bool towardZero = Device.Rounding == HalfRounding.TowardZero;
                    cell.r = Binary16.Round(value.r, towardZero);
                    cell.g = Binary16.Round(value.g, towardZero);
                    cell.b = Binary16.Round(value.b, towardZero);
                    cell.a = Binary16.Round(value.a, towardZero);
                }
                else
                {
                    cell.r = Step(value.r) / 255f;
                    cell.g = Step(value.g) / 255f;
                    cell.b = Step(value.b) / 255f;
                    cell.a = Step(value.a) / 255f;
                }
            }
        }

        int Index(int x, int y)
        {
            if ((uint)x >= (uint)Width || (uint)y >= (uint)Height)
                throw new IndexOutOfRangeException("cell (" + x + ", " + y + ") of a buffer of " + Width + " by " + Height);
            return y * Width + x;
        }

        /// <summary>The step of 0 to 255 that a Byte component becomes. A NaN becomes 0.</summary>
        internal static byte Step(float v)
        {
            return !(v > 0f) ? (byte)0 : v >= 1f ? (byte)255 : (byte)(v * 255f + 0.5f);
        }
    }
}
