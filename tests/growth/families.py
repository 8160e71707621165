"""Judging families of models, side by side: what run.py and swelling.py have in common."""

import concurrent.futures
import os
import shutil
import tempfile


def judge_all(names, judge):
    """The exit status: 1 where one failed. judge(name, folder) gives lines to print, and whether it failed."""
    failed, folder = 0, tempfile.mkdtemp(prefix="onnxgpu-growth-")
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for lines, wrong in pool.map(lambda name: judge(name, folder), names):
                failed += wrong
                for line in lines:
                    print(line, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("%d passed, %d failed" % (len(names) - failed, failed))
    return 1 if failed else 0
