using System;
using UnityEngine;

namespace Tsukimi.Preview
{
    public enum HalfRounding
    {
        ToNearest,
        TowardZero,
    }

    /// <summary>What the stand-in may be told, and the target does not have.</summary>
    public static class Device
    {
        /// <summary>How writes to Half buffers round; hardware does the one or the other. To be set between runs.</summary>
        public static HalfRounding Rounding { get; set; }

        [ThreadStatic] static Type owner;

        /// <summary>The class whose kernels this thread runs, where neither the destination nor the caller tells: a buffer
        /// that another class created, or a generic class. Usually null.</summary>
        public static Type Owner
        {
            get { return owner; }
            set { owner = value; }
        }

        /// <summary>What Gpu.Show gave the renderer last; null: nothing yet.</summary>
        public static Texture Shown(Renderer display)
        {
            return display.Shown;
        }

        /// <summary>One cell of a texture, of a live view of a buffer as it is now.</summary>
        public static Color4 Cell(Texture texture, int x, int y)
        {
            return texture.Cell(x, y);
        }

        /// <summary>The cells as the target's memory holds them, row y = 0 first: four bytes each, or four little-endian
        /// 16-bit numbers.</summary>
        public static byte[] Bytes(GpuBuffer2D buffer)
        {
            bool half = buffer.Format == GpuFormat.Half;
            var bytes = new byte[buffer.Width * buffer.Height * (half ? 8 : 4)];
            int at = 0;

            for (int y = 0; y < buffer.Height; y++)
            {
                for (int x = 0; x < buffer.Width; x++)
                {
                    Color4 cell = buffer[x, y];
                    at = Put(bytes, at, half, cell.r);
                    at = Put(bytes, at, half, cell.g);
                    at = Put(bytes, at, half, cell.b);
                    at = Put(bytes, at, half, cell.a);
                }
            }
            return bytes;
        }

        static int Put(byte[] bytes, int at, bool half, float v)
        {
            if (!half)
            {
                bytes[at] = GpuBuffer2D.Step(v);
                return at + 1;
            }
            ushort bits = Binary16.FromSingle(v, false); // exact: the cell holds no other numbers
            bytes[at] = (byte)bits;
            bytes[at + 1] = (byte)(bits >> 8);
            return at + 2;
        }
    }
}
