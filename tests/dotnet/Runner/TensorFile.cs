using System;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace Runner
{
    /// <summary>A file with one ONNX TensorProto. Numbers are float64 whatever the type, which holds all but large int64.</summary>
    sealed class TensorFile
    {
        public int[] Dims { get; private set; }
        public bool Real { get; private set; }
        public double[] Values { get; private set; }

        byte[] bytes;
        int at;

        public static TensorFile Read(string path)
        {
            var file = new TensorFile { bytes = File.ReadAllBytes(path) };

            try
            {
                file.Parse();
            }
            catch (Exception e) when (e is IndexOutOfRangeException || e is ArgumentException)
            {
                throw new InvalidDataException(path + ": " + e.Message);
            }
            return file;
        }

        void Parse()
        {
            var dims = new List<int>();
            var numbers = new List<double>();
            int type = 0;
            byte[] raw = null;

            while (at < bytes.Length)
            {
                ulong tag = Varint();
                int field = (int)(tag >> 3), wire = (int)(tag & 7);
                int end = wire == 2 ? Length() : -1;

                if (field == 1)
                    Each(end, () => dims.Add((int)Varint()));
                else if (field == 2)
                    type = (int)Varint();
                else if (field == 4)
                    Each(end, () => numbers.Add(BitConverter.ToSingle(bytes, Skip(4))));
                else if (field == 10)
                    Each(end, () => numbers.Add(BitConverter.ToDouble(bytes, Skip(8))));
                else if (field == 5 || field == 7)
                    Each(end, () => numbers.Add((long)Varint()));
                else if (field == 9)
                    raw = new ArraySegment<byte>(bytes, at, end - at).ToArray();
                else if (wire == 0)
                    Varint();
                else if (wire != 2)
                    Skip(wire == 1 ? 8 : 4);
                if (end >= 0)
                    at = end;
            }
            Dims = dims.ToArray();
            Real = type == 1 || type == 10 || type == 11;
            Values = raw == null ? FromFields(type, numbers) : FromRaw(type, raw);
            int count = 1;
            foreach (int d in Dims)
                count *= d;
            if (Values.Length != count)
                throw new ArgumentException(Values.Length + " values, the shape has " + count);
        }

        static double[] FromFields(int type, List<double> numbers)
        {
            if (type == 10)
                for (int i = 0; i < numbers.Count; i++)
                    numbers[i] = (double)BitConverter.Int16BitsToHalf((short)(ushort)numbers[i]);
            return numbers.ToArray();
        }

        static double[] FromRaw(int type, byte[] raw)
        {
            int size = type == 7 || type == 11 ? 8 : type == 1 || type == 6 ? 4 : type == 10 ? 2 : 1;
            var values = new double[raw.Length / size];

            for (int i = 0; i < values.Length; i++)
            {
                switch (type)
                {
                    case 1: values[i] = BitConverter.ToSingle(raw, i * 4); break;
                    case 2: case 9: values[i] = raw[i]; break;
                    case 3: values[i] = (sbyte)raw[i]; break;
                    case 6: values[i] = BitConverter.ToInt32(raw, i * 4); break;
                    case 7: values[i] = BitConverter.ToInt64(raw, i * 8); break;
                    case 10: values[i] = (double)BitConverter.Int16BitsToHalf(BitConverter.ToInt16(raw, i * 2)); break;
                    case 11: values[i] = BitConverter.ToDouble(raw, i * 8); break;
                    default: throw new ArgumentException("elements of type " + type);
                }
            }
            return values;
        }

        void Each(int end, Action read)
        {
            do
                read();
            while (at < end);
        }

        int Skip(int count)
        {
            at += count;
            return at - count;
        }

        int Length()
        {
            int length = (int)Varint();

            if (length < 0 || length > bytes.Length - at)
                throw new ArgumentException("the file is cut off");
            return at + length;
        }

        ulong Varint()
        {
            ulong n = 0;

            for (int shift = 0;; shift += 7)
            {
                byte b = bytes[at++];
                n |= (ulong)(b & 127) << shift;
                if (b < 128)
                    return n;
            }
        }

        public string ShapeText()
        {
            var s = new StringBuilder("[");

            for (int i = 0; i < Dims.Length; i++)
                s.Append(i > 0 ? ", " : "").Append(Dims[i]);
            return s.Append(']').ToString();
        }
    }
}
