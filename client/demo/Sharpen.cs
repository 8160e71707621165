using Tsukimi;
using UnityEngine;

// The argument is the model's path, seen from this script. Everything else of the class is generated.
[OnnxGpu("filter.onnx")]
public partial class Sharpen : TsukimiBehaviour
{
    // Set in the Inspector: the picture that goes in, and where the result is shown.
    public Texture source;
    public Renderer display;

    void Start()
    {
        LoadFilter();
        Gpu.Load(FilterInput, source);
    }

    void Update()
    {
        RunFilter();
        Gpu.Show(FilterOutput, display);
    }
}
