using System;
using Tsukimi;

namespace UnityEngine
{
    /// <summary>Something with cells. Row 0 is the first.</summary>
    public class Texture
    {
        public int width { get; }
        public int height { get; }

        internal Texture(int width, int height)
        {
            this.width = width;
            this.height = height;
        }

        internal virtual Color4 Cell(int x, int y)
        {
            throw new NotSupportedException("a texture without cells");
        }
    }

    /// <summary>The formats of weight assets, with Unity's numbers.</summary>
    public enum TextureFormat
    {
        RGBA32 = 4,
        RGBAHalf = 17,
    }

    public class Texture2D : Texture
    {
        readonly byte[] bytes;

        public TextureFormat format { get; }

        public Texture2D(int width, int height) : this(width, height, TextureFormat.RGBA32, false, true)
        {
        }

        /// <summary>Without mip levels and in linear colour only.</summary>
        public Texture2D(int width, int height, TextureFormat format, bool mipChain, bool linear) : base(width, height)
        {
            if (width < 1 || height < 1 || width > 16384 || height > 16384)
                throw new ArgumentException("a texture of " + width + " by " + height + " texels");
            if (mipChain || !linear)
                throw new NotSupportedException("textures have no mip levels and linear colour here");
            this.format = format;
            bytes = new byte[width * height * BytesPerTexel];
        }

        int BytesPerTexel
        {
            get { return format == TextureFormat.RGBAHalf ? 8 : 4; }
        }

        /// <summary>Row 0 first, little-endian.</summary>
        public void LoadRawTextureData(byte[] data)
        {
            if (data.Length != bytes.Length)
                throw new ArgumentException("a " + format + " texture of " + width + " by " + height + " has " +
                                            bytes.Length + " bytes, not " + data.Length);
            Array.Copy(data, bytes, data.Length);
        }

        public byte[] GetRawTextureData()
        {
            return (byte[])bytes.Clone();
        }

        /// <summary>Nothing to be done: there is no second copy.</summary>
        public void Apply()
        {
        }

        internal override Color4 Cell(int x, int y)
        {
            int at = (y * width + x) * BytesPerTexel;

            if (format == TextureFormat.RGBAHalf)
                return new Color4(HalfAt(at), HalfAt(at + 2), HalfAt(at + 4), HalfAt(at + 6));
            return new Color4(bytes[at] / 255f, bytes[at + 1] / 255f, bytes[at + 2] / 255f, bytes[at + 3] / 255f);
        }

        float HalfAt(int at)
        {
            return Binary16.ToSingle((ushort)(bytes[at] | bytes[at + 1] << 8));
        }
    }

    public class Renderer
    {
        /// <summary>What Gpu.Show gave it last; for previews.</summary>
        internal Texture Shown;
    }
}
