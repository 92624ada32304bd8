import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"convergence-convnet","description":"","frontmatter":{},"headers":[],"relativePath":"results/convergence-convnet.md","filePath":"bench/results/convergence-convnet.md"}');
const _sfc_main = { name: "results/convergence-convnet.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="convergence-convnet" tabindex="-1">convergence-convnet <a class="header-anchor" href="#convergence-convnet" aria-label="Permalink to &quot;convergence-convnet&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v669; 2026-11-22; load before the run 1.2. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0. Device: cpu. Precision: each.</p><table tabindex="0"><thead><tr><th>model</th><th>precision</th><th>first loss</th><th>loss</th><th>to float32</th><th>in training</th><th>to float32</th><th>skipped steps</th></tr></thead><tbody><tr><td>convnet, 1.66 M parameters, batch 64</td><td>fp32</td><td>2.2930</td><td>0.5629</td><td>+0.00 %</td><td>0.6865</td><td>+0.00 %</td><td>0</td></tr><tr><td>convnet, 1.66 M parameters, batch 64</td><td>bf16</td><td>2.2692</td><td>0.5568</td><td>−1.08 %</td><td>0.6527</td><td>−4.93 %</td><td>0</td></tr><tr><td>convnet, 1.66 M parameters, batch 64</td><td>fp16</td><td>2.3548</td><td>0.5578</td><td>−0.91 %</td><td>0.6687</td><td>−2.58 %</td><td>0</td></tr></tbody></table><p>After 300 steps of Adam from the same weights on the same data: next symbols of a Markov chain with an entropy of 1.208 nats for the GPT, images of ten kinds under noise, a tenth of them with a wrong label, for the convnet. The loss is over eight batches that were not trained on, in float32 and without dropout; in training it is the mean over the last 20 steps. A loss of more than 1 % above float32&#39;s is an error.</p><p>Repeat it: <code>npm run bench:convergence -- --models convnet --name convergence-convnet</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/convergence-convnet.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const convergenceConvnet = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  convergenceConvnet as default
};
