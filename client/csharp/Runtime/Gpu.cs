using System;
using Tsukimi.Preview;
using UnityEngine;

namespace Tsukimi
{
    /// <summary>
    /// A stand-in for the target's host surface: kernels run on the CPU, one cell after the other, as the C# that they are.
    /// It is for tests and previews. What the target leaves undefined is an exception here: a kernel that cannot be found
    /// or does not fit its arguments, a destination that is also an argument, a table beyond its capacity, a read outside
    /// a buffer or a table. What differs between devices is set in <see cref="Device"/>.
    /// </summary>
    public static class Gpu
    {
        public static GpuBuffer2D Buffer(int width, int height)
        {
            return new GpuBuffer2D(width, height, GpuFormat.Byte, KernelSearch.CallingTypes());
        }

        public static GpuBuffer2D Buffer(int width, int height, GpuFormat format)
        {
            return new GpuBuffer2D(width, height, format, KernelSearch.CallingTypes());
        }

        /// <summary>Computes every cell of the destination. The arguments are the kernel's parameters after KernelId.</summary>
        public static void Run(string kernel, GpuBuffer2D destination, params object[] arguments)
        {
            if (destination == null)
                throw new ArgumentNullException(nameof(destination), "Gpu.Run(\"" + kernel + "\"): no destination");
            Kernel.Of(KernelSearch.Find(kernel, destination)).Run(destination, arguments ?? new object[0]);
        }

        /// <summary>Fills the buffer from a texture, point-sampled where the sizes differ.</summary>
        public static void Load(GpuBuffer2D buffer, Texture source)
        {
            if (buffer == null)
                throw new ArgumentNullException(nameof(buffer));
            if (source == null)
                throw new ArgumentNullException(nameof(source), "Gpu.Load: no texture was assigned");
            for (int y = 0; y < buffer.Height; y++)
            {
                int sourceY = Nearest(y, buffer.Height, source.height);
                for (int x = 0; x < buffer.Width; x++)
                    buffer[x, y] = source.Cell(Nearest(x, buffer.Width, source.width), sourceY);
            }
        }

        /// <summary>The renderer's texture is the buffer from now on, whatever is written into it later.</summary>
        public static void Show(GpuBuffer2D buffer, Renderer display)
        {
            if (display == null)
                throw new ArgumentNullException(nameof(display));
            display.Shown = Texture(buffer);
        }

        public static Texture Texture(GpuBuffer2D buffer)
        {
            return new BufferTexture(buffer);
        }

        /// <summary>The source cell under the centre of cell i of n, where the source has m.</summary>
        static int Nearest(int i, int n, int m)
        {
            return n == m ? i : (int)((2L * i + 1) * m / (2L * n));
        }

        /// <summary>A buffer seen as a texture.</summary>
        sealed class BufferTexture : Texture
        {
            readonly GpuBuffer2D buffer;

            public BufferTexture(GpuBuffer2D buffer) : base(buffer.Width, buffer.Height)
            {
                this.buffer = buffer;
            }

            internal override Color4 Cell(int x, int y)
            {
                return buffer[x, y];
            }
        }
    }
}
