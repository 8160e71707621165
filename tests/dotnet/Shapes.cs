using Tsukimi;

// Scripts in less common form: nested and generic, and with two models in one class.
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
}
