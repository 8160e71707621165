using Tsukimi;

// Scripts in less common form: nested and generic, with two models in one class, and with two sets of weights.
namespace Cases
{
    public static partial class Outer
    {
        [OnnxGpu("two_inputs.onnx")]
        public partial class Nested<T> : TsukimiBehaviour where T : class
        {
        }
    }

    [OnnxGpu("two_outputs.onnx")]
    [OnnxGpu("wide.onnx")]
    internal partial class Both : TsukimiBehaviour
    {
    }

    [OnnxGpu("swap_day.onnx", "swap_night.onnx")]
    public sealed partial class Swap : TsukimiBehaviour
    {
    }
}
