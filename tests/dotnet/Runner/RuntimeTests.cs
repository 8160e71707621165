using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using Tsukimi;
using Tsukimi.Preview;
using UnityEngine;

namespace Runner
{
    /// <summary>The stand-in on its own.</summary>
    static class RuntimeTests
    {
        public static readonly Dictionary<string, Action> All = new Dictionary<string, Action>
        {
            ["half_is_exact"] = HalfIsExact,
            ["half_toward_zero"] = HalfTowardZero,
            ["byte_rounds_and_clamps"] = ByteRoundsAndClamps,
            ["raw_bytes"] = RawBytes,
            ["load_stretches"] = LoadStretches,
            ["show_is_live"] = ShowIsLive,
            ["kernels_of_equal_name"] = KernelsOfEqualName,
            ["kernel_of_generic_class"] = KernelOfGenericClass,
            ["kernel_from_lambda_and_owner"] = KernelFromLambdaAndOwner,
            ["destination_is_argument"] = DestinationIsArgument,
            ["wrong_arguments"] = WrongArguments,
            ["table_beyond_capacity"] = TableBeyondCapacity,
            ["read_outside"] = ReadOutside,
            ["mathf"] = Functions,
        };

        static void True(bool condition, string what)
        {
            if (!condition)
                throw new CheckException(what);
        }

        static void Throws<T>(Action action, string text) where T : Exception
        {
            try
            {
                action();
            }
            catch (T e)
            {
                True(e.Message.Contains(text), "\"" + e.Message + "\" does not say \"" + text + "\"");
                return;
            }
            throw new CheckException("no " + typeof(T).Name + " about " + text);
        }

        static float Stored(GpuBuffer2D buffer, float v)
        {
            buffer[0, 0] = new Color4(v, 0, 0, 0);
            return buffer[0, 0].r;
        }

        /// <summary>Every half, what lies just beside it, and the middle between it and the next.</summary>
        static IEnumerable<float> Neighbourhoods()
        {
            for (int i = 0; i < 0x10000; i++)
            {
                float h = (float)BitConverter.Int16BitsToHalf((short)i);
                float next = (float)BitConverter.Int16BitsToHalf((short)(i + 1));
                float middle = h / 2 + next / 2;

                yield return h;
                foreach (float v in new[] { h, middle })
                {
                    yield return v;
                    if (float.IsNaN(v) || float.IsInfinity(v) || v == 0)
                        continue;
                    yield return BitConverter.Int32BitsToSingle(BitConverter.SingleToInt32Bits(v) + 1);
                    yield return BitConverter.Int32BitsToSingle(BitConverter.SingleToInt32Bits(v) - 1);
                }
            }
            foreach (float v in new[] { 65519.9f, 65520f, 65536f, 1e30f, float.MaxValue, float.Epsilon, 1e-30f })
            {
                yield return v;
                yield return -v;
            }
        }

        static void HalfIsExact()
        {
            GpuBuffer2D buffer = Gpu.Buffer(1, 1, GpuFormat.Half);

            foreach (float v in Neighbourhoods())
            {
                float stored = Stored(buffer, v);
                True(stored.Equals((float)(Half)v), v + " became " + stored);
            }
        }

        static void HalfTowardZero()
        {
            GpuBuffer2D buffer = Gpu.Buffer(1, 1, GpuFormat.Half);

            Device.Rounding = HalfRounding.TowardZero;
            try
            {
                foreach (float v in Neighbourhoods())
                {
                    float nearest = (float)(Half)v, stored = Stored(buffer, v), least = nearest;

                    if (Math.Abs(nearest) > Math.Abs(v)) // one half nearer to zero
                        least = (float)BitConverter.Int16BitsToHalf((short)(BitConverter.HalfToInt16Bits((Half)v) - 1));
                    True(stored.Equals(least), v + " became " + stored + " instead of " + least);
                }
            }
            finally
            {
                Device.Rounding = HalfRounding.ToNearest;
            }
        }

        static void ByteRoundsAndClamps()
        {
            GpuBuffer2D buffer = Gpu.Buffer(1, 1);

            for (int step = 0; step < 256; step++)
                foreach (float off in new[] { -0.49f, 0f, 0.49f })
                    True(Stored(buffer, (step + off) / 255f) == step / 255f, "step " + step + " moved by " + off);
            True(Stored(buffer, 3f) == 1f && Stored(buffer, -1f) == 0f && Stored(buffer, float.NaN) == 0f &&
                 Stored(buffer, float.PositiveInfinity) == 1f, "clamping");
        }

        static void RawBytes()
        {
            GpuBuffer2D bytes = Gpu.Buffer(1, 2), halves = Gpu.Buffer(1, 1, GpuFormat.Half);

            bytes[0, 1] = new Color4(1f / 255, 2f / 255, 0.5f, 9);
            True(BitConverter.ToString(Device.Bytes(bytes)) == "00-00-00-00-01-02-80-FF", "bytes");
            halves[0, 0] = new Color4(1, -2, 65504, 1f / 16777216);
            True(BitConverter.ToString(Device.Bytes(halves)) == "00-3C-00-C0-FF-7B-01-00", "halves");
            var texture = new Texture2D(1, 1, TextureFormat.RGBAHalf, false, true);
            texture.LoadRawTextureData(Device.Bytes(halves));
            GpuBuffer2D copy = Gpu.Buffer(1, 1, GpuFormat.Half);
            Gpu.Load(copy, texture);
            True(copy[0, 0].Equals(halves[0, 0]), "halves through a texture");
            Throws<ArgumentException>(() => texture.LoadRawTextureData(new byte[4]), "8 bytes, not 4");
        }

        static void LoadStretches()
        {
            var texture = new Texture2D(2, 1);
            GpuBuffer2D buffer = Gpu.Buffer(4, 3), small = Gpu.Buffer(1, 1);

            texture.LoadRawTextureData(new byte[] { 10, 20, 30, 40, 50, 60, 70, 80 });
            Gpu.Load(buffer, texture);
            for (int y = 0; y < 3; y++)
                for (int x = 0; x < 4; x++)
                    True(buffer[x, y].r == (x < 2 ? 10 : 50) / 255f, "cell " + x + ", " + y);
            Gpu.Load(small, texture);
            True(small[0, 0].g == 60 / 255f, "the centre");
            Throws<ArgumentNullException>(() => Gpu.Load(small, null), "no texture was assigned");
        }

        static void ShowIsLive()
        {
            var display = new Renderer();
            GpuBuffer2D buffer = Gpu.Buffer(2, 2);

            Gpu.Show(buffer, display);
            buffer[1, 0] = new Color4(1, 0, 0, 0);
            Texture shown = Device.Shown(display);
            True(shown.width == 2 && shown.height == 2 && Device.Cell(shown, 1, 0).r == 1f, "what is shown");
        }

        // ---- kernels. What is marked as not to be inlined would be too long for that in a generated class. ----

        class First : TsukimiBehaviour
        {
            public GpuBuffer2D Destination;

            [MethodImpl(MethodImplOptions.NoInlining)]
            public void Load()
            {
                Destination = Gpu.Buffer(3, 2, GpuFormat.Half);
            }

            [Kernel]
            static Color4 FilterLayer0(KernelId id)
            {
                return new Color4(id.x, id.y, 1f, 0f);
            }

            public void RunFilter()
            {
                Gpu.Run(nameof(FilterLayer0), Destination);
            }
        }

        class Second : TsukimiBehaviour
        {
            public GpuBuffer2D Destination;

            [MethodImpl(MethodImplOptions.NoInlining)]
            public void Load()
            {
                Destination = Gpu.Buffer(3, 2, GpuFormat.Half);
            }

            public readonly Vector4[] Table = { new Vector4(5, 6, 7, 8) };

            [Kernel]
            static Color4 FilterLayer0(KernelId id)
            {
                return new Color4(id.x, id.y, 2f, 0f);
            }

            [Kernel]
            static Color4 FilterLayer1(KernelId id, GpuBuffer2D prev, [Capacity(4)] Vector4[] t)
            {
                Color4 p = prev[id.x + 1, id.y];
                return new Color4(p.r, t[id.y].y, 0f, 0f);
            }

            public void RunFilter()
            {
                Gpu.Run(nameof(FilterLayer0), Destination);
            }

            public int Runs;

            public Action Later()
            {
                return () =>
                {
                    Gpu.Run("FilterLayer0", Destination);
                    Runs++;
                };
            }
        }

        class Generic<T> : TsukimiBehaviour where T : class
        {
            public GpuBuffer2D Destination;

            [MethodImpl(MethodImplOptions.NoInlining)]
            public void Load()
            {
                Destination = Gpu.Buffer(1, 1);
            }

            [Kernel]
            static Color4 FilterLayer0(KernelId id)
            {
                return new Color4(1f, 0f, 0f, 0f);
            }

            public void RunFilter()
            {
                Gpu.Run(nameof(FilterLayer0), Destination);
            }
        }

        static void KernelsOfEqualName()
        {
            var first = new First();
            var second = new Second();

            first.Load();
            second.Load();
            first.RunFilter();
            second.RunFilter();
            True(first.Destination[2, 1].Equals(new Color4(2, 1, 1, 0)), "the first class");
            True(second.Destination[2, 1].Equals(new Color4(2, 1, 2, 0)), "the second class");
        }

        static void KernelOfGenericClass()
        {
            var generic = new Generic<string>();

            generic.Load();
            generic.RunFilter();
            True(generic.Destination[0, 0].r == 1f, "a generic class");
        }

        static Second Loaded()
        {
            var second = new Second();

            second.Load();
            return second;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static GpuBuffer2D Foreign()
        {
            return Gpu.Buffer(3, 2, GpuFormat.Half);
        }

        static void KernelFromLambdaAndOwner()
        {
            var second = new Second { Destination = Foreign() };

            second.Later()();
            True(second.Destination[0, 0].b == 2f, "a lambda, into a buffer of another class");
            Device.Owner = typeof(First);
            try
            {
                second.RunFilter();
            }
            finally
            {
                Device.Owner = null;
            }
            True(second.Destination[0, 0].b == 1f, "the owner that was named");
            Throws<AmbiguousMatchException>(() => Gpu.Run("FilterLayer0", second.Destination), "set Device.Owner");
            Throws<MissingMethodException>(() => Gpu.Run("FilterLayer9", second.Destination), "FilterLayer9");
        }

        static void DestinationIsArgument()
        {
            Second s = Loaded();

            Throws<ArgumentException>(() => Gpu.Run("FilterLayer1", s.Destination, s.Destination, s.Table), "also the destination");
        }

        static void WrongArguments()
        {
            Second s = Loaded();

            Throws<ArgumentException>(() => Gpu.Run("FilterLayer1", s.Destination, Foreign()), "takes 2 arguments, not 1");
            Throws<ArgumentException>(() => Gpu.Run("FilterLayer1", s.Destination, s.Table, s.Table), "is a GpuBuffer2D");
            Throws<ArgumentException>(() => Gpu.Run("FilterLayer1", s.Destination, null, s.Table), "not null");
        }

        static void TableBeyondCapacity()
        {
            Second s = Loaded();

            Throws<ArgumentException>(() => Gpu.Run("FilterLayer1", s.Destination, Foreign(), new Vector4[5]), "its capacity is 4");
        }

        static void ReadOutside()
        {
            Second s = Loaded();

            Throws<InvalidOperationException>(() => Gpu.Run("FilterLayer1", s.Destination, Foreign(), new Vector4[4]),
                                              "cell (3, 0) of a buffer of 3 by 2");
            Throws<InvalidOperationException>(() => Gpu.Run("FilterLayer1", s.Destination, Gpu.Buffer(4, 2), s.Table),
                                              "FilterLayer1");
        }

        static void Functions()
        {
            True(Mathf.Round(2.5f) == 2f && Mathf.Round(-3.5f) == -4f && Mathf.Sign(0f) == 1f && Mathf.Sign(-2f) == -1f, "ties");
            True(Mathf.Max(float.NaN, 1f) == 1f && float.IsNaN(Mathf.Max(1f, float.NaN)) &&
                 float.IsNaN(Mathf.Clamp(float.NaN, 0f, 1f)), "NaN");
            True(Mathf.Exp(1f) == (float)Math.E && Mathf.Pow(2f, 0.5f) == (float)Math.Sqrt(2) && Mathf.Floor(-0.5f) == -1f, "values");
        }
    }
}
