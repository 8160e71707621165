using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Text.RegularExpressions;
using Tsukimi;

namespace Runner
{
    /// <summary>
    /// An input or output buffer, known by nothing but the doc comment over its field: what a user has to go by. The
    /// comment says the range and the layout.
    /// </summary>
    sealed class Edge
    {
        public string Field { get; private set; }
        public bool Output { get; private set; }
        public int Number { get; private set; }
        public int Item { get; private set; }
        public bool Mapped { get; private set; } // 0 to 1 stands for Low to High
        public double Low { get; private set; }
        public double High { get; private set; }

        int[] shape;      // of one item
        int channel = -1; // axis; -1: a single value
        int groupWidth;   // cells between channel c and c + 4
        Dictionary<int, int> alongX, alongY; // factor by axis
        bool usesX, usesY;

        static readonly Regex field = new Regex(@"^\s*public GpuBuffer2D (\w+);$");
        static readonly Regex mapped =
            new Regex(@"(Write|Read) values from 0 to 1 \((mapped|corresponding) to (\S+) to ([^\s)]+)\)\.");
        static readonly Regex plain =
            new Regex(@"(Write the values as they are \(not mapped to 0 to 1\)|Read the values as they are)\.");
        static readonly Regex layout = new Regex(
            @"Layout \(shape \[(?<shape>[\d, ]*)\]\): (?:the value is component r of cell \(0, 0\)\.|" +
            @"(?:y is (?<y>the index along (?:(?!, x the)[^;])+))?(?:(?:, x|x is) (?<x>the index along [^;]+))?(?:; )?" +
            @"channel c is the index along axis (?<c>\d+); the value is component c % 4 of cell " +
            @"\((?:x \+ \(c / 4\) \* (?<group>\d+)|c / 4), (?<cy>y|0)\)\.)$");

        public static List<Edge> Read(string source, string prefix)
        {
            var name = new Regex("^" + prefix + @"(Input|Output)(\d*)(?:Item(\d+))?$");
            var edges = new List<Edge>();
            string comment = "";
            bool open = false;

            foreach (string line in File.ReadAllLines(source))
            {
                string text = line.Trim();

                if (text.StartsWith("///"))
                {
                    comment = open ? comment + " " + text.Substring(3).Trim() : text.Substring(3).Trim();
                    open = true;
                    continue;
                }
                open = false;
                Match f = field.Match(line), n = f.Success ? name.Match(f.Groups[1].Value) : null;
                if (n != null && n.Success)
                    edges.Add(new Edge(n, comment));
            }
            return edges;
        }

        Edge(Match name, string comment)
        {
            Match range = mapped.Match(comment), place = layout.Match(comment);

            Field = name.Value;
            Output = name.Groups[1].Value == "Output";
            Number = name.Groups[2].Value == "" ? 0 : int.Parse(name.Groups[2].Value);
            Item = name.Groups[3].Success ? int.Parse(name.Groups[3].Value) : 0;
            if (range.Success)
            {
                Mapped = true;
                Low = double.Parse(range.Groups[3].Value, CultureInfo.InvariantCulture);
                High = double.Parse(range.Groups[4].Value, CultureInfo.InvariantCulture);
            }
            else if (!plain.IsMatch(comment))
            {
                throw new CheckException(Field + ": its comment says no range: " + comment);
            }
            if (!place.Success || (range.Success ? range.Value : plain.Match(comment).Value).StartsWith("Read") != Output)
                throw new CheckException(Field + ": its comment says no layout, or takes it for the other side: " + comment);
            shape = Array.ConvertAll(place.Groups["shape"].Value.Split(new[] { ", " }, StringSplitOptions.RemoveEmptyEntries),
                                     int.Parse);
            if (!place.Groups["c"].Success)
                return;
            channel = int.Parse(place.Groups["c"].Value);
            alongX = Axes(place.Groups["x"]);
            alongY = Axes(place.Groups["y"]);
            usesX = place.Groups["group"].Success;
            usesY = place.Groups["cy"].Value == "y";
            if (usesX != place.Groups["x"].Success || usesY != place.Groups["y"].Success)
                throw new CheckException(Field + ": its cell and its clauses do not fit: " + comment);
            groupWidth = usesX ? int.Parse(place.Groups["group"].Value) : 1;
        }

        /// <summary>"the index along axis 2", or "the index along axes 2 and 3 (i2 * 8 + i3)": factors by axis.</summary>
        Dictionary<int, int> Axes(Group clause)
        {
            var factors = new Dictionary<int, int>();

            if (!clause.Success)
                return factors;
            Match one = Regex.Match(clause.Value, @"^the index along axis (\d+)$");
            Match many = Regex.Match(clause.Value, @"^the index along axes (\d+(?:, \d+)* and \d+) \((.*)\)$");
            if (one.Success)
            {
                factors.Add(int.Parse(one.Groups[1].Value), 1);
                return factors;
            }
            foreach (string term in many.Groups[2].Value.Split(new[] { " + " }, StringSplitOptions.None))
            {
                Match m = Regex.Match(term, @"^i(\d+)(?: \* (\d+))?$");

                if (!many.Success || !m.Success)
                    throw new CheckException(Field + ": cannot read \"" + clause.Value + "\"");
                factors.Add(int.Parse(m.Groups[1].Value), m.Groups[2].Success ? int.Parse(m.Groups[2].Value) : 1);
            }
            return factors;
        }

        int CountOfItem
        {
            get
            {
                int count = 1;
                foreach (int d in shape)
                    count *= d;
                return count;
            }
        }

        /// <summary>Calls with every element's index in the item, its cell and its component.</summary>
        void Elements(Action<int, int, int, int> visit)
        {
            var index = new int[shape.Length];
            int count = CountOfItem;

            for (int i = 0; i < count; i++)
            {
                if (channel < 0)
                {
                    visit(i, 0, 0, 0);
                }
                else
                {
                    int x = index[channel] / 4 * groupWidth, y = 0;

                    foreach (KeyValuePair<int, int> axis in alongX)
                        x += index[axis.Key] * axis.Value;
                    foreach (KeyValuePair<int, int> axis in alongY)
                        y += index[axis.Key] * axis.Value;
                    visit(i, x, y, index[channel] % 4);
                }
                for (int axis = shape.Length - 1; axis >= 0 && ++index[axis] == shape[axis]; axis--)
                    index[axis] = 0;
            }
        }

        /// <summary>Writes this item's part of the tensor. Components that the layout leaves unused become `unused`.</summary>
        public void Write(GpuBuffer2D buffer, TensorFile tensor, float unused)
        {
            int count = CountOfItem;
            var cells = new Color4[buffer.Width, buffer.Height];

            if (tensor.Values.Length % count != 0 || (Item + 1) * count > tensor.Values.Length)
                throw new CheckException(Field + " has " + count + " values, the input is " + tensor.ShapeText());
            for (int x = 0; x < buffer.Width; x++)
                for (int y = 0; y < buffer.Height; y++)
                    cells[x, y] = new Color4(unused, unused, unused, unused);
            Elements((i, x, y, component) =>
            {
                double v = tensor.Values[Item * count + i];

                if (Mapped) // to the nearest step, as QuantizeLinear does
                    v = Math.Min(255, Math.Max(0, Math.Round((v - Low) / ((High - Low) / 255)))) / 255;
                Set(ref cells[x, y], component, (float)v);
            });
            for (int x = 0; x < buffer.Width; x++)
                for (int y = 0; y < buffer.Height; y++)
                    buffer[x, y] = cells[x, y];
        }

        /// <summary>Reads this item into its part of the values.</summary>
        public void ReadInto(GpuBuffer2D buffer, double[] values)
        {
            int count = CountOfItem;

            if ((Item + 1) * count > values.Length)
                throw new CheckException(Field + " has " + count + " values, expected are " + values.Length + " in all");
            Elements((i, x, y, component) =>
            {
                double v = Get(buffer[x, y], component);
                values[Item * count + i] = Mapped ? Low + v * (High - Low) : v;
            });
        }

        static void Set(ref Color4 cell, int component, float v)
        {
            switch (component)
            {
                case 0: cell.r = v; break;
                case 1: cell.g = v; break;
                case 2: cell.b = v; break;
                default: cell.a = v; break;
            }
        }

        static float Get(Color4 cell, int component)
        {
            return component == 0 ? cell.r : component == 1 ? cell.g : component == 2 ? cell.b : cell.a;
        }
    }
}
