using System;
using System.Globalization;
using System.IO;
using UnityEngine;

namespace Tsukimi.Preview
{
    /// <summary>
    /// Reads a Texture2D that was serialised as text, as weight assets are: what the editor does when such an asset is
    /// assigned to a field.
    /// </summary>
    public static class WeightAsset
    {
        public static Texture2D Read(string path)
        {
            int width = 0, height = 0, format = 0;
            byte[] bytes = null;

            using (var reader = new StreamReader(path))
            {
                if (reader.ReadLine() != "%YAML 1.1")
                    throw new InvalidDataException(path + ": not a text-serialised asset");
                for (string line = reader.ReadLine(); line != null; line = reader.ReadLine())
                {
                    int colon = line.IndexOf(':');
                    string key = colon < 0 ? line : line.Substring(0, colon).Trim();
                    string value = colon < 0 ? "" : line.Substring(colon + 1).Trim();

                    if (key == "m_Width")
                        width = Number(path, value);
                    else if (key == "m_Height")
                        height = Number(path, value);
                    else if (key == "m_TextureFormat")
                        format = Number(path, value);
                    else if (key == "_typelessdata")
                        bytes = Hexadecimal(path, value);
                }
            }
            if (bytes == null || (format != (int)TextureFormat.RGBA32 && format != (int)TextureFormat.RGBAHalf))
                throw new InvalidDataException(path + ": no RGBA32 or RGBAHalf texture");
            var texture = new Texture2D(width, height, (TextureFormat)format, false, true);
            texture.LoadRawTextureData(bytes);
            texture.Apply();
            return texture;
        }

        static int Number(string path, string text)
        {
            if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number))
                throw new InvalidDataException(path + ": \"" + text + "\" is no number");
            return number;
        }

        static byte[] Hexadecimal(string path, string text)
        {
            var bytes = new byte[text.Length / 2];

            if (text.Length % 2 != 0)
                throw new InvalidDataException(path + ": half a byte at the end");
            for (int i = 0; i < bytes.Length; i++)
                bytes[i] = (byte)(Digit(path, text[2 * i]) << 4 | Digit(path, text[2 * i + 1]));
            return bytes;
        }

        static int Digit(string path, char c)
        {
            int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

            if (digit < 0)
                throw new InvalidDataException(path + ": '" + c + "' is no hexadecimal digit");
            return digit;
        }
    }
}
