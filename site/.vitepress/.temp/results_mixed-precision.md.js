import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"mixed-precision","description":"","frontmatter":{},"headers":[],"relativePath":"results/mixed-precision.md","filePath":"bench/results/mixed-precision.md"}');
const _sfc_main = { name: "results/mixed-precision.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="mixed-precision" tabindex="-1">mixed-precision <a class="header-anchor" href="#mixed-precision" aria-label="Permalink to &quot;mixed-precision&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v669; 2026-11-21; load before the run 3.5. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0, python 3.11.7, torch 2.13.0+cpu, accelerate 1.15.0. Device: cpu. Precision: bf16.</p><table tabindex="0"><thead><tr><th>model</th><th>ranks</th><th>threads</th><th>ours, ms a step</th><th>theirs, ms a step</th><th>ours/theirs</th></tr></thead><tbody><tr><td>gpt</td><td>1</td><td>1</td><td>150 (141–173)</td><td>225 (210–238)</td><td>0.67 (0.65–0.67)</td></tr><tr><td>convnet</td><td>1</td><td>1</td><td>20.8 (19.7–22.5)</td><td>45.7 (43.0–47.1)</td><td>0.45 (0.43–0.47)</td></tr></tbody></table><p>Milliseconds of one training step: the median of all timed blocks, with the fastest and the slowest. ours/theirs: the median of the repeats&#39; ratios, with the least and the greatest; below 1, ours is faster.</p><table tabindex="0"><thead><tr><th>model</th><th>ranks</th><th>threads</th><th>parameters, ours</th><th>parameters, theirs</th><th>samples/s, ours</th><th>samples/s, theirs</th><th>efficiency, ours</th><th>efficiency, theirs</th><th>cores busy, ours</th><th>cores busy, theirs</th></tr></thead><tbody><tr><td>gpt</td><td>1</td><td>1</td><td>3,241,472</td><td>3,241,472</td><td>107</td><td>71</td><td>100 %</td><td>100 %</td><td>1.05</td><td>1.00</td></tr><tr><td>convnet</td><td>1</td><td>1</td><td>1,663,370</td><td>1,663,370</td><td>3,083</td><td>1,401</td><td>100 %</td><td>100 %</td><td>1.12</td><td>1.00</td></tr></tbody></table><p>The batch is per rank, so samples/s counts all ranks, and efficiency is the rate on k ranks through k times that on one. Cores busy: a rank&#39;s CPU time through wall time.</p><ul><li>gpt: GPT, 4 layers, width 256, 4 heads, sequence 128, vocabulary 96, batch 16</li><li>convnet: convnet, 1.66 M parameters, batch 64</li></ul><p>3 times both sides, each of them first by turns, in new processes; in each, 3 timed blocks of so many steps: gpt 5, convnet 20. Forward, backward, reduction over ranks and Adam, in mixed precision of bfloat16 and float32; batches are tensors on the device before the clock starts, the loss is read once a block, and a barrier opens and closes each block.</p><p>Repeat it: <code>npm run bench -- --models gpt,convnet --ranks 1 --threads 1 --repeats 3 --precision bf16 --name mixed-precision</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/mixed-precision.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const mixedPrecision = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  mixedPrecision as default
};
