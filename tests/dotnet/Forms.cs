using Tsukimi;

// Classes nested in types of every kind, with modifiers of every kind, with names that are keywords or the target's own.
namespace Cases
{
    public partial interface IOuter<T>
    {
        [OnnxGpu("wide.onnx")]
        public partial class Inside : TsukimiBehaviour
        {
        }
    }

    public readonly ref partial struct Struct
    {
        [OnnxGpu("two_inputs.onnx")]
        internal sealed partial record @event
        {
            public int Kernel { get; set; }
        }
    }

    public abstract partial record Record
    {
        public class Hidden
        {
        }

        protected partial record Middle<T, U> : Record where T : new()
        {
            [OnnxGpu("wide.onnx")]
            private protected new abstract partial class Hidden : TsukimiBehaviour
            {
                public Color4 Color4;
                public int GpuBuffer2D, KernelId;

                enum Kernel { None }

                void Capacity()
                {
                    KernelId += GpuBuffer2D;
                }
            }
        }
    }
}
