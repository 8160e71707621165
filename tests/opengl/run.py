#!/usr/bin/env python3
"""Runs generated kernels on OpenGL, without a window, and compares: run.py BUILD [--data DIR]

Without --data: tests/opengl/Dialect.cs and the models of tests/models/make_models.py, which this makes. With it: test
cases in DIR (GROUP/NAME/model.onnx), with their own outputs. BUILD/tests/opengl_cases (tests/opengl/cases.c) does the work.
Where there is no EGL, or no device with OpenGL 3.3, it says so, and nothing fails.
"""

import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

CASES = """format/filter_bn_raw_weird_names light/light_shufflenet npm-fixed/oww_embedding_model_simplified
npm/oww_hey_mycroft_v0.1 qdq/filter_n4_op13_qdq_u8 qdq/filter_op13_qdq_s8 qdq/mlp_mnist_op13_qdq_u8
qdq/unet_nearest_64_op13_qdq_s8 torch/audio_m5_8000_raw_op17 torch/bert_tiny_nomask_t16_op13 torch/deit_tiny_64_op13
torch/espcn_x3_48_op11 torch/filter_n4_op13 torch/filter_odd_op13 torch/filter_op13 torch/gpt_tiny_t32_op13
torch/llama_tiny_t32_op17 torch/lstm_bi_t12_op14 torch/mlp_bn_n4_raw_op15 torch/mlp_mnist_op13 torch/oddops_32_op13
torch/squeezenet1_1_64_op13 torch/srresnetish_x2_48_op13 torch/style_64_raw_op13 torch/tv_convnext_micro_64_op17
torch/tv_swin_micro_64_op13 torch/unet_bilinear_64_op13 torch/unet_transpose_64_op13 torch/unrolled_rnn_t8_op13
torch/wavenet_1024_op13 weightonly/filter_op17_dq4pc weightonly/llama_tiny_t32_op17_dqu4blk
weightonly/mlp_mnist_n4_op17_dq8blk""".split()

# Networks that add up what halves lose where they are written toward zero: `verify --rounding zero` finds them as far off as
# OpenGL does, so that they are compared with the simulation alone.
AMPLIFYING = """torch/shufflenet_v2_x0_5_64_op11 torch/yolov8ish_96_op13
npm/keijiro_face_detection_front_128x128_barracuda""".split()


def environment(cache):
    """Mesa's software device, unless somebody wants another one; nothing is kept between runs, so translate quickly."""
    made = dict(os.environ)
    made.setdefault("LIBGL_ALWAYS_SOFTWARE", "1")
    made.setdefault("MESA_SHADER_CACHE_DIR", cache)
    made.setdefault("GALLIVM_PERF", "nopt")
    # A build for AddressSanitizer: what the device keeps until the end is none of ours.
    made["ASAN_OPTIONS"] = made.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return made


def main():
    build = os.path.abspath(sys.argv[1])
    program = [os.path.join(build, "tests/opengl_cases")]
    dialect = os.path.join(ROOT, "tests/opengl/Dialect.cs")
    work = tempfile.mkdtemp(prefix="onnxgpu-opengl-")
    try:
        if sys.argv[2:3] == ["--data"]:
            def there(names):
                return [os.path.join(sys.argv[3], name) for name in names]
            program += there(CASES) + ["--simulated"] + there(AMPLIFYING)
        else:
            sys.path.insert(0, os.path.join(ROOT, "tests/models"))
            import make_models
            make_models.main([work])
            models = [os.path.join(work, name + ".onnx") for name in make_models.MODELS]
            program += [dialect] + models + ["--es", dialect]
        return subprocess.run(program, env=environment(os.path.join(work, "shaders"))).returncode
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
