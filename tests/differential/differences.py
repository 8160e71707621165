"""Where ONNX Runtime (1.30, CPU) answers otherwise than the operators' definitions say: why, by operator.

Each function gets a node, what is known of values (name -> (dims, elements or None)), and the comparison's line; it
gives the reason, or None where this node is none. A model that differs and holds such a node is explained.
"""

import re


def _resize(node, values, detail):
    inputs, a = node[1] + [""] * 4, node[3]
    transform = a.get("coordinate_transformation_mode", "half_pixel")
    x, y = values.get(inputs[0], (None,))[0], values.get(node[2][0], (None,))[0]
    by_scales = inputs[2] and values.get(inputs[2], ([0],))[0] != [0]
    if transform == "align_corners" and by_scales:
        return "Resize, align_corners by scales: takes the output's whole length (onnx's resize_downsample_scales_*_align_corners " \
               "want the fraction)"
    if a.get("keep_aspect_ratio_policy", "stretch") != "stretch" and any(i < 0 for i in a.get("axes", [])):
        return "Resize, keep_aspect_ratio_policy with axes counted from the end: leaves those as they are"
    if transform == "tf_crop_and_resize" and x and y:
        roi = values.get(inputs[1], (None, None))[1]
        axes = [i % len(x) for i in a.get("axes", range(len(x)))]
        if roi and any(x[i] == y[i] and (roi[k] != 0 or roi[len(axes) + k] != 1) for k, i in enumerate(axes)):
            return "Resize, tf_crop_and_resize: leaves an axis whose length stays as it is, whatever its region"
    if by_scales and x and y and a.get("mode") in ("linear", "cubic") and any(p == q and p > 1 for p, q in zip(x[1:], y[1:])):
        return "Resize by scales that do not change a length: copies that axis instead of interpolating"
    return None


def _grid_sample(node, values, detail):
    if node[3].get("mode") in ("cubic", "bicubic") and node[3].get("padding_mode") in ("border", "reflection"):
        return "GridSample, cubic: does not move positions outside onto the border first (onnx's reference implementation does)"
    return None


def _affine_grid(node, values, detail):
    size = values.get(node[1][1], (None, None))[1]
    if node[3].get("align_corners") and size and 1 in size[2:]:
        return "AffineGrid, align_corners of one position: 0 (onnx's reference implementation begins at -1)"
    return None


def _lp_pool(node, values, detail):
    a = node[3]
    if a.get("auto_pad", "").startswith("SAME") and any(k < s for k, s in zip(a["kernel_shape"], a.get("strides", a["kernel_shape"]))):
        return "LpPool, SAME with strides beyond the kernel: pads by a negative number"
    return None


def _mean_variance(node, values, detail):
    if "nan" in detail:
        return "MeanVarianceNormalization of equal elements: NaN (the definition adds 1e-9 to the deviation)"
    return None


def _instance(node, values, detail):
    found = re.search(r"is (\S+) instead of (\S+)", detail)
    if found and abs(float(found[1]) - float(found[2])) <= 2e-3 * max(1, abs(float(found[2]))):
        return "InstanceNormalization: x * a + (B - mean * a) in float32 loses what is left of nearly equal elements"
    return None


FUNCTIONS = {"Resize": _resize, "GridSample": _grid_sample, "AffineGrid": _affine_grid, "LpPool": _lp_pool,
             "MeanVarianceNormalization": _mean_variance, "InstanceNormalization": _instance}


def explain(d, detail):
    """Why the runtime's outputs of description d (with its "shapes") may differ, or None."""
    values = {name: (dims, None) for name, dims in d.get("shapes", {}).items()}
    values.update({i[0]: (i[2], None) for i in d["inputs"]})
    values.update({t[0]: (t[2], t[3] if isinstance(t[3], list) else None) for t in d["tensors"]})
    for node in d["nodes"]:
        if node[0] == "Constant":
            _, dims, numbers = node[3]["value"]["tensor"]
            values[node[2][0]] = (dims, numbers if isinstance(numbers, list) else None)
    for node in d["nodes"]:
        why = FUNCTIONS.get(node[0], lambda *_: None)(node, values, detail)
        if why:
            return why
    return None
