import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"small-state","description":"","frontmatter":{},"headers":[],"relativePath":"results/small-state.md","filePath":"bench/results/small-state.md"}');
const _sfc_main = { name: "results/small-state.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="small-state" tabindex="-1">small-state <a class="header-anchor" href="#small-state" aria-label="Permalink to &quot;small-state&quot;">​</a></h1><p>AMD EPYC, 2 cores, 24 GiB, Linux 6.18.44-fc-v595; 2026-11-30; load before the run 17.6. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0. Device: cpu. Precision: fp32.</p><p>AdamW on a GPT of 110,418,432 parameters, 256 tokens a step, float32 weights, 1 thread. Bytes a parameter are those of native tensors between steps: weights and state, and one batch. The peak is that of a step. In parts: <code>linearCrossEntropy</code>.</p><table tabindex="0"><thead><tr><th>state</th><th>logits</th><th>bytes a parameter</th><th>peak, MB</th><th>of float32</th><th>ms a step</th><th>loss after one step</th></tr></thead><tbody><tr><td>32 bits</td><td>whole</td><td>12.00</td><td>1,784</td><td>1.00</td><td>8,511</td><td>8.8073</td></tr><tr><td>8 bits</td><td>whole</td><td>6.04</td><td>1,126</td><td>0.63</td><td>18,572</td><td>8.7885</td></tr><tr><td>4 bits</td><td>whole</td><td>5.07</td><td>1,020</td><td>0.57</td><td>13,901</td><td>8.8248</td></tr><tr><td>8 bits</td><td>in parts</td><td>6.04</td><td>1,159</td><td>0.65</td><td>27,175</td><td>8.8100</td></tr></tbody></table><p>Repeat it: <code>npm run bench:small-state</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/small-state.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const smallState = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  smallState as default
};
