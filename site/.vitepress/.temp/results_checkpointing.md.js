import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"checkpointing","description":"","frontmatter":{},"headers":[],"relativePath":"results/checkpointing.md","filePath":"bench/results/checkpointing.md"}');
const _sfc_main = { name: "results/checkpointing.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="checkpointing" tabindex="-1">checkpointing <a class="header-anchor" href="#checkpointing" aria-label="Permalink to &quot;checkpointing&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v669; 2026-11-22; load before the run 0.5. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0, python 3.11.7, torch 2.13.0+cpu, accelerate 1.15.0. Device: cpu. Precision: bf16.</p><table tabindex="0"><thead><tr><th></th><th>peak MiB, ours</th><th>theirs</th><th>ours/theirs</th><th>ms a step, ours</th><th>theirs</th><th>ours/theirs</th></tr></thead><tbody><tr><td>all kept</td><td>453.0</td><td>475.8</td><td>0.95</td><td>507</td><td>716</td><td>0.71</td></tr><tr><td>each layer computed again</td><td>304.0</td><td>302.9</td><td>1.00</td><td>653</td><td>861</td><td>0.76</td></tr><tr><td>again/kept</td><td>0.67</td><td>0.64</td><td></td><td>1.29</td><td>1.20</td><td></td></tr></tbody></table><p>A GPT as in <code>npm run bench</code> with 24 layers (GPT, 4 layers, width 256, 4 heads, sequence 128, vocabulary 96, batch 16 has four), batch 8, 1 thread, Adam. Ours runs each layer by <code>checkpoint</code>, theirs by <code>torch.utils.checkpoint</code>. Peaks are of the memory for tensors in 2 steps, as in <code>npm run bench:memory</code>; times are medians over 1 processes of 2 blocks of 2 steps, all four in turn.</p><p>Repeat it: <code>npm run bench:checkpointing -- --repeats 1 --precision bf16</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/checkpointing.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const checkpointing = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  checkpointing as default
};
