import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"pipeline","description":"","frontmatter":{},"headers":[],"relativePath":"results/pipeline-intel.md","filePath":"bench/results/pipeline-intel.md"}');
const _sfc_main = { name: "results/pipeline-intel.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="pipeline" tabindex="-1">pipeline <a class="header-anchor" href="#pipeline" aria-label="Permalink to &quot;pipeline&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v769; 2026-11-26; load before the run 0.5. node 20.20.2, python 3.11.7, torch 2.13.0+cpu. Device: cpu. Precision: fp32.</p><table tabindex="0"><thead><tr><th>schedule</th><th>ours, ms per step</th><th>compiled</th><th>PyTorch, ms per step</th><th>ours/PyTorch</th><th>compiled/PyTorch</th><th>MiB at most, ours</th><th>compiled</th></tr></thead><tbody><tr><td>gpipe</td><td>45.5</td><td>33.1</td><td>54.1</td><td>0.84</td><td>0.61</td><td>16</td><td>16</td></tr><tr><td>1f1b</td><td>43.1</td><td>30.4</td><td>44.0</td><td>0.98</td><td>0.69</td><td>12</td><td>12</td></tr><tr><td>interleaved</td><td>41.9</td><td>28.8</td><td>62.2</td><td>0.67</td><td>0.46</td><td>13</td><td>13</td></tr><tr><td>zeroBubble</td><td>36.3</td><td>28.0</td><td>42.8</td><td>0.85</td><td>0.66</td><td>13</td><td>13</td></tr></tbody></table><p>Compiled: the same step by accelerator.compile. PyTorch&#39;s steps run without torch.compile. 8 dense layers of 512 units, 8 micro-batches of 64 rows, SGD, 2 ranks of one thread. interleaved has two stages a rank. PyTorch&#39;s zero bubble is ScheduleInterleavedZeroBubble with one stage a rank.</p><p>Repeat it: <code>npm run bench:pipeline -- --repeats 2</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/pipeline-intel.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const pipelineIntel = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  pipelineIntel as default
};
