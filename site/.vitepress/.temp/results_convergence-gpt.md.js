import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"convergence-gpt","description":"","frontmatter":{},"headers":[],"relativePath":"results/convergence-gpt.md","filePath":"bench/results/convergence-gpt.md"}');
const _sfc_main = { name: "results/convergence-gpt.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="convergence-gpt" tabindex="-1">convergence-gpt <a class="header-anchor" href="#convergence-gpt" aria-label="Permalink to &quot;convergence-gpt&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v669; 2026-11-22; load before the run 1.0. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0. Device: cpu. Precision: each.</p><table tabindex="0"><thead><tr><th>model</th><th>precision</th><th>first loss</th><th>loss</th><th>to float32</th><th>in training</th><th>to float32</th><th>skipped steps</th></tr></thead><tbody><tr><td>GPT, 4 layers, width 256, 4 heads, sequence 128, vocabulary 96, batch 16</td><td>fp32</td><td>4.6477</td><td>1.2763</td><td>+0.00 %</td><td>1.2818</td><td>+0.00 %</td><td>0</td></tr><tr><td>GPT, 4 layers, width 256, 4 heads, sequence 128, vocabulary 96, batch 16</td><td>bf16</td><td>4.6054</td><td>1.2774</td><td>+0.09 %</td><td>1.2818</td><td>+0.00 %</td><td>0</td></tr><tr><td>GPT, 4 layers, width 256, 4 heads, sequence 128, vocabulary 96, batch 16</td><td>fp16</td><td>4.6129</td><td>1.2788</td><td>+0.19 %</td><td>1.2815</td><td>−0.02 %</td><td>0</td></tr></tbody></table><p>After 300 steps of Adam from the same weights on the same data: next symbols of a Markov chain with an entropy of 1.208 nats for the GPT, images of ten kinds under noise, a tenth of them with a wrong label, for the convnet. The loss is over eight batches that were not trained on, in float32 and without dropout; in training it is the mean over the last 20 steps. A loss of more than 1 % above float32&#39;s is an error.</p><p>Repeat it: <code>npm run bench:convergence -- --models gpt --name convergence-gpt</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/convergence-gpt.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const convergenceGpt = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  convergenceGpt as default
};
