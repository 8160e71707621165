using Tsukimi;

// This model was exported with an open batch: the editor marks the argument.
[OnnxGpu("open_batch.onnx")]
public partial class Blur : TsukimiBehaviour
{
}
