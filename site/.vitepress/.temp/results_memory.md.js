import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"memory","description":"","frontmatter":{},"headers":[],"relativePath":"results/memory.md","filePath":"bench/results/memory.md"}');
const _sfc_main = { name: "results/memory.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="memory" tabindex="-1">memory <a class="header-anchor" href="#memory" aria-label="Permalink to &quot;memory&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v669; 2026-11-22; load before the run 1.2. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0, python 3.11.7, torch 2.13.0+cpu, accelerate 1.15.0. Device: cpu. Precision: fp32.</p><table tabindex="0"><thead><tr><th>model</th><th>ours</th><th>of it between steps</th><th>theirs</th><th>of it between steps</th><th>ours/theirs</th><th>with tfjs&#39;s walk</th><th>ours/tfjs&#39;s walk</th></tr></thead><tbody><tr><td>convnet, 1.66 M parameters, batch 64</td><td>49.0</td><td>20.6</td><td>46.8</td><td>26.9</td><td>1.05</td><td>66.1</td><td>0.74</td></tr><tr><td>GPT, 4 layers, width 256, 4 heads, sequence 128, vocabulary 96, batch 16</td><td>185.5</td><td>37.3</td><td>177.4</td><td>49.7</td><td>1.05</td><td>356.4</td><td>0.52</td></tr><tr><td>LSTM, hidden 256, 64 time steps, input width 128, batch 32</td><td>35.2</td><td>12.6</td><td>64.4</td><td>14.1</td><td>0.55</td><td>35.2</td><td>1.00</td></tr><tr><td>MLP 784-128-10, batch 32</td><td>2.4</td><td>2.0</td><td>3.1</td><td>2.3</td><td>0.77</td><td>2.4</td><td>1.00</td></tr><tr><td>CIFAR ResNet-20, 32×32×3, batch 64</td><td>113.3</td><td>9.2</td><td>107.3</td><td>10.2</td><td>1.06</td><td>287.4</td><td>0.39</td></tr></tbody></table><p>MiB of memory for tensors at most, over 2 training steps with Adam after 3 others, on one rank with one thread: weights, the optimizer&#39;s state and the batches included. Ours is the peak of our allocator, with what it rounds up; theirs of libtorch&#39;s, told by torch.profiler. What a library takes for itself past the allocator is in neither. PyTorch&#39;s gradients stay until the next step begins. The column of tfjs&#39;s walk is ours with tfjs&#39;s own <code>engine().gradients</code> in place of Accelerate&#39;s.</p><p>Repeat it: <code>npm run bench:memory</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/memory.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const memory = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  memory as default
};
