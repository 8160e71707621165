using Tsukimi;
using UnityEngine;

// What kernels may contain, in a file of the generated form: for shaders what is hard about it is names, order and functions.
namespace Cases
{
    public partial class Dialect
    {
        public GpuBuffer2D DialectInput;
        public GpuBuffer2D DialectBytes;
        public GpuBuffer2D DialectOutput;
        private GpuBuffer2D DialectNames;
        private GpuBuffer2D DialectOrder;
        private GpuBuffer2D DialectFlow;
        private GpuBuffer2D DialectFunctions;
        private GpuBuffer2D DialectCurves;
        private GpuBuffer2D DialectQuantised;
        private GpuBuffer2D DialectTones;

        public const int DialectSteps = 8;

        public Vector4[] Dialectw0;
        public Texture2D Dialectw1;
        private GpuBuffer2D Dialectw1Buffer;

        private void LoadDialect()
        {
            DialectInput = Gpu.Buffer(37, 23, GpuFormat.Half);
            DialectBytes = Gpu.Buffer(37, 23);
            DialectOutput = Gpu.Buffer(5, 70, GpuFormat.Half);
            DialectNames = Gpu.Buffer(37, 23, GpuFormat.Half);
            DialectOrder = Gpu.Buffer(37, 23, GpuFormat.Half);
            DialectFlow = Gpu.Buffer(37, 23, GpuFormat.Half);
            DialectFunctions = Gpu.Buffer(37, 23, GpuFormat.Half);
            DialectCurves = Gpu.Buffer(37, 23, GpuFormat.Half);
            DialectQuantised = Gpu.Buffer(37, 23, GpuFormat.Byte);
            DialectTones = Gpu.Buffer(37, 23);
            Dialectw0 = new Vector4[]
            {
                new Vector4(0.5f, -1.25f, 3f, 0.0009765625f), new Vector4(-0f, 65504f, 0.1f, -7.5f),
                new Vector4(1e-7f, 2.5f, -0.333f, 12f), new Vector4(0.25f, 1f, -2f, 4f), new Vector4(9f, 8f, 7f, 6f),
            };
            Dialectw1Buffer = Gpu.Buffer(11, 3);
            Gpu.Load(Dialectw1Buffer, Dialectw1);
        }

        // Words of GLSL, its own prefix, two underscores, letters beyond ASCII, and names that differ in these only.
        [Kernel]
        static Color4 DialectLayer0(KernelId id, GpuBuffer2D sampler2D, [Capacity(8)] Vector4[] texture)
        {
            Color4 sample = sampler2D[id.x, id.y];
            Vector4 vec4 = texture[(id.x + id.y) % 5];
            float input = sample.r;
            float output = sample.g + input;
            float gl_Position = mix(output, vec4.x);
            float a__b = 1f + gl_Position;
            float a_b = 2f * a__b;
            float ab = a_b - 0.5f;
            float größe = ab + sample.b;
            float gre = größe + sample.a;
            int cell = id.x + id.y;
            float p1 = cell;
            float p2 = main(p1, vec4.y * 0.0001f);
            bool discard = gre > p2;
            float half = discard ? gre : p2;
            return new Color4(half, größe, a__b, p2 + vec4.z);
        }

        static float mix(float uniform, float varying)
        {
            return uniform * 0.5f + varying;
        }

        static float main(float x, float y)
        {
            float v = x - y;
            return mix(v, y);
        }

        // The order of operations, and conversions.
        [Kernel]
        static Color4 DialectLayer1(KernelId id, GpuBuffer2D a)
        {
            Color4 c = a[36 - id.x, 22 - id.y];
            float x = c.r - (c.g - c.b) - c.a;
            float y = c.r * (c.g + c.b) / (c.a * c.a + 1f) / 2f - -c.r;
            int i = (int)(c.r * 100f);
            int j = i < 0 ? -i : i;
            int k = (j + 3) * 2 - (j + 5 - 3) / (id.y + 1) - j % (id.x + 7) % 3;
            int least = -2147483648;
            int most = 2147483647;
            float z = k;
            bool both = !(c.r > 0f) && (c.g <= 0f || c.b != c.a) && id.x >= 3 ? true : false;
            float w = both ? i : -0.75f;
            w += c.a % 0.75f;
            z -= 3 * (least + most);
            z *= 0.125f;
            x %= 1.5f;
            return new Color4(x, y, z, w);
        }

        static float Weighed(GpuBuffer2D from, int x, int y)
        {
            if (x < 0 || y < 0 || x > 36 || y > 22)
            {
                return 0f;
            }
            Color4 at = from[x, y];
            if (at.r > 1f)
            {
                return at.r;
            }
            if (at.g > 0.5f)
                return at.g * at.b;
            x += y;
            float far = x;
            return at.a + far * 0.01f;
        }

        static Color4 Both(GpuBuffer2D first, GpuBuffer2D second, int x, int y)
        {
            float one = Weighed(first, x, y);
            float other = Weighed(second, x - 1, y + 1);
            return new Color4(one, other, one + other, one - other);
        }

        // Loops of both kinds, branches, helpers that return early and that take buffers.
        [Kernel]
        static Color4 DialectLayer2(KernelId id, GpuBuffer2D a, GpuBuffer2D b)
        {
            float sum = 0f;
            for (int i = -1; i <= 1; i++)
                for (int j = 2; j > -3; j -= 2)
                    sum += Weighed(a, id.x + i, id.y + j);
            for (int n = 0; n != 6; n += 3)
            {
                if (n == 3)
                    sum -= 1f;
                else if (id.x > 20)
                {
                    sum -= 0.25f;
                    if (id.y > 10) sum *= 0.5f;
                }
                else
                    sum += 2f;
            }
            int w = 4;
            float product = 1f;
            while (w >= 0)
            {
                Color4 c = a[w, id.y];
                product = product * 0.5f + c.g;
                w -= 1;
            }
            Color4 both = Both(a, b, id.x, id.y);
            {
                float inner = both.b;
                product -= inner;
            }
            return new Color4(sum, product, both.r + both.g, both.a);
        }

        // Functions that shaders have to compute well.
        [Kernel]
        static Color4 DialectLayer3(KernelId id, GpuBuffer2D a)
        {
            Color4 c = a[id.x, id.y];
            float x = Mathf.Floor(c.r * 3f) + Mathf.Ceil(c.g * 5f) + Mathf.Round(c.b * 7f + 0.1f);
            float y = Mathf.Sqrt(Mathf.Abs(c.r)) + Mathf.Sign(c.g == 0f ? 1f : c.g) * Mathf.Exp(Mathf.Min(c.b, 2f));
            float z = Mathf.Log(Mathf.Max(c.a, 0.125f)) + Mathf.Clamp(c.r, -1.5f, 0.75f);
            float w = Mathf.Pow(Mathf.Abs(c.g) + 0.5f, c.b);
            return new Color4(x, y, z, w);
        }

        // Functions that they may compute less well.
        [Kernel]
        static Color4 DialectLayer4(KernelId id, GpuBuffer2D a)
        {
            Color4 c = a[id.x, id.y];
            float x = Mathf.Sin(c.r) + Mathf.Cos(c.g * 2f);
            float y = Mathf.Tan(c.b * 0.25f);
            float z = Mathf.Asin(c.r * 0.25f) + Mathf.Acos(c.g * 0.25f);
            float w = Mathf.Atan(c.b) + Mathf.Atan2(c.a, c.r + 5f);
            return new Color4(x, y, z, w);
        }

        static int Decoded(float v)
        {
            return (int)(v * 255f + 0.5f);
        }

        // 8 bits in, 8 bits of a weight texture, 8 bits out.
        [Kernel]
        static Color4 DialectLayer5(KernelId id, GpuBuffer2D bytes, GpuBuffer2D weights)
        {
            int sum = 0;
            int last = 0;
            for (int y = 0; y < 3; y++)
            {
                for (int x = 0; x < 11; x++)
                {
                    Color4 q = bytes[(id.x + x) % 37, (id.y + y) % 23];
                    Color4 w = weights[x, y];
                    sum += Decoded(q.r) * (Decoded(w.r) - 128) + Decoded(q.g) * (Decoded(w.g) - 128);
                    last = Decoded(q.b) + Decoded(w.a);
                }
            }
            float scaled = Mathf.Floor(sum * 0.001f + 128.25f);
            float mean = last / 2;
            return new Color4(scaled / 255f, mean / 255f, -0.5f, 1.5f);
        }

        // 8 bits from numbers that lie anywhere, and from 8 bits.
        [Kernel]
        static Color4 DialectLayer6(KernelId id, GpuBuffer2D a, GpuBuffer2D bytes)
        {
            Color4 c = a[id.x, id.y];
            Color4 q = bytes[id.x, id.y];
            return new Color4(c.r * 0.25f + 0.5f, c.g, q.a, 1f - q.b);
        }

        // A destination of another shape; a table by a computed index.
        [Kernel]
        static Color4 DialectLayer7(KernelId id, GpuBuffer2D a, GpuBuffer2D bytes, [Capacity(8)] Vector4[] t)
        {
            Vector4 row = t[id.x];
            float sum = 0f;
            for (int i = 0; i < 5; i++)
            {
                Vector4 e = t[i];
                Color4 c = a[id.x * 7 + i, id.y / 4];
                sum += c.r * e.x + c.g * e.w;
            }
            Color4 q = bytes[id.x, id.y % 23];
            return new Color4(sum, row.x, q.g * 255f, (float)id.x + id.y * 0.5f);
        }

        private void RunDialect()
        {
            RunDialect(0, DialectSteps);
        }

        private void RunDialect(int first, int count)
        {
            if (first <= 0 && count > 0 - first) Gpu.Run(nameof(DialectLayer0), DialectNames, DialectInput, Dialectw0);
            if (first <= 1 && count > 1 - first) Gpu.Run(nameof(DialectLayer1), DialectOrder, DialectInput);
            if (first <= 2 && count > 2 - first) Gpu.Run(nameof(DialectLayer2), DialectFlow, DialectInput, DialectOrder);
            if (first <= 3 && count > 3 - first) Gpu.Run(nameof(DialectLayer3), DialectFunctions, DialectInput);
            if (first <= 4 && count > 4 - first) Gpu.Run(nameof(DialectLayer4), DialectCurves, DialectInput);
            if (first <= 5 && count > 5 - first) Gpu.Run(nameof(DialectLayer5), DialectQuantised, DialectBytes, Dialectw1Buffer);
            if (first <= 6 && count > 6 - first) Gpu.Run(nameof(DialectLayer6), DialectTones, DialectInput, DialectQuantised);
            if (first <= 7 && count > 7 - first) Gpu.Run(nameof(DialectLayer7), DialectOutput, DialectNames, DialectTones, Dialectw0);
        }
    }
}
