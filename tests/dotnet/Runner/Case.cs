using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using Tsukimi.Preview;

namespace Runner
{
    /// <summary>
    /// One generated class and the numbers for it: NUMBERS/inputs/input_K.pb, and what each of three others made of them:
    /// kernels/ (`onnxgpu run`), zero/ (the same with writes rounded toward zero), expected/ (the model's own arithmetic).
    /// </summary>
    sealed class Case
    {
        readonly Type type;
        readonly string prefix, folder, numbers;
        readonly int style;
        readonly List<Edge> edges;
        readonly TensorFile[] expected;

        public Case(string typeName, string prefix, string folder, string numbers, int style)
        {
            string[] sources = Directory.GetFiles(folder, "*." + prefix + ".Model.cs");

            type = Type.GetType(typeName) ?? throw new CheckException("there is no type " + typeName);
            if (sources.Length != 1)
                throw new CheckException("there are " + sources.Length + " generated files with the prefix " + prefix);
            this.prefix = prefix;
            this.folder = folder;
            this.numbers = numbers;
            this.style = style;
            edges = Edge.Read(sources[0], prefix);
            expected = Outputs("expected");
        }

        TensorFile[] Outputs(string whose)
        {
            var outputs = new List<TensorFile>();

            for (;;)
            {
                string path = Path.Combine(numbers, whose, "output_" + outputs.Count + ".pb");
                if (!File.Exists(path))
                    break;
                outputs.Add(TensorFile.Read(path));
            }
            if (outputs.Count == 0)
                throw new CheckException("no outputs in " + Path.Combine(numbers, whose));
            return outputs.ToArray();
        }

        /// <summary>Figures for the line that says ok.</summary>
        public string Check()
        {
            double reference = 0, kernels = 0;

            Device.Rounding = HalfRounding.ToNearest;
            Behaviour one = Ready(0);
            one.Run();
            double[][] whole = Read(one);
            for (int i = 0; i < whole.Length; i++)
            {
                double scale = Scale(i);
                kernels = Math.Max(kernels, Comparison.OneStep("output " + i + " and the kernels simulated", whole[i],
                                                               Outputs("kernels")[i].Values, scale));
                reference = Math.Max(reference, Comparison.Reference("output " + i + " and the reference", whole[i],
                                                                     expected[i].Values, scale, expected[i].Real));
            }

            // The same from dirty buffers, and with something in the components that no one should read.
            Behaviour other = Ready(1);
            other.Spoil(777);
            other.Run(-4, 4);
            other.Run(other.Steps, int.MaxValue);
            for (int step = 0; step < other.Steps; step++)
                other.Run(step, 1);
            Equal(whole, other, "step by step");
            other.Spoil(-0.5f);
            other.Run(int.MinValue, 3);
            other.Run(-1, 1 + (other.Steps + 1) / 2);
            other.Run((other.Steps + 1) / 2, int.MaxValue);
            Equal(whole, other, "in two halves");

            Device.Rounding = HalfRounding.TowardZero;
            try
            {
                Behaviour zero = Ready(0);
                zero.Run();
                double[][] rounded = Read(zero);
                TensorFile[] simulated = Outputs("zero");
                for (int i = 0; i < rounded.Length; i++)
                    Comparison.OneStep("output " + i + " rounded toward zero and the kernels simulated", rounded[i],
                                       simulated[i].Values, Scale(i));
            }
            finally
            {
                Device.Rounding = HalfRounding.ToNearest;
            }
            return string.Format(CultureInfo.InvariantCulture, "steps={0} kernels={1:G3} reference={2:G3}", one.Steps, kernels,
                                 reference);
        }

        Behaviour Ready(float unused)
        {
            var behaviour = new Behaviour(type, prefix, folder);
            int given = 0;

            behaviour.Use(style);
            foreach (Edge edge in edges)
                if (!edge.Output)
                    edge.Write(behaviour.Buffer(edge.Field), Input(edge.Number, ref given), unused);
            foreach (string path in Directory.GetFiles(Path.Combine(numbers, "inputs"), "input_*.pb"))
            {
                int number = int.Parse(Path.GetFileNameWithoutExtension(path).Substring("input_".Length));
                if (!edges.Exists(e => !e.Output && e.Number == number) &&
                    behaviour.SetTokens(number, TensorFile.Read(path)))
                    given++;
            }
            if (given == 0)
                throw new CheckException("the class takes no input");
            return behaviour;
        }

        TensorFile Input(int number, ref int given)
        {
            given++;
            return TensorFile.Read(Path.Combine(numbers, "inputs", "input_" + number + ".pb"));
        }

        double[][] Read(Behaviour behaviour)
        {
            var outputs = new double[expected.Length][];

            for (int i = 0; i < outputs.Length; i++)
            {
                outputs[i] = new double[expected[i].Values.Length];
                Array.Fill(outputs[i], double.NaN);
            }
            foreach (Edge edge in edges)
                if (edge.Output)
                    edge.ReadInto(behaviour.Buffer(edge.Field), outputs[edge.Number]);
            return outputs;
        }

        void Equal(double[][] whole, Behaviour behaviour, string how)
        {
            double[][] outputs = Read(behaviour);

            for (int i = 0; i < outputs.Length; i++)
                Comparison.Same("output " + i + " " + how + " and all at once", outputs[i], whole[i]);
        }

        /// <summary>One step of an 8-bit output; 0 for others.</summary>
        double Scale(int output)
        {
            Edge edge = edges.Find(e => e.Output && e.Number == output) ??
                        throw new CheckException("the class has no output " + output);
            return edge.Mapped ? (edge.High - edge.Low) / 255 : 0;
        }
    }
}
