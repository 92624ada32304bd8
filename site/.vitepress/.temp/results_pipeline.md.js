import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"pipeline","description":"","frontmatter":{},"headers":[],"relativePath":"results/pipeline.md","filePath":"bench/results/pipeline.md"}');
const _sfc_main = { name: "results/pipeline.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="pipeline" tabindex="-1">pipeline <a class="header-anchor" href="#pipeline" aria-label="Permalink to &quot;pipeline&quot;">​</a></h1><p>AMD EPYC, 2 cores, 24 GiB, Linux 6.18.44-fc-v595; 2026-11-26; load before the run 1.0. node 20.20.2, python 3.11.7, torch 2.13.0+cpu. Device: cpu. Precision: fp32.</p><table tabindex="0"><thead><tr><th>schedule</th><th>ours, ms per step</th><th>compiled</th><th>PyTorch, ms per step</th><th>ours/PyTorch</th><th>compiled/PyTorch</th><th>MiB at most, ours</th><th>compiled</th></tr></thead><tbody><tr><td>gpipe</td><td>65.6</td><td>50.8</td><td>84.5</td><td>0.76</td><td>0.59</td><td>16</td><td>16</td></tr><tr><td>1f1b</td><td>65.5</td><td>48.5</td><td>82.5</td><td>0.79</td><td>0.58</td><td>12</td><td>12</td></tr><tr><td>interleaved</td><td>56.5</td><td>48.3</td><td>96.0</td><td>0.58</td><td>0.50</td><td>13</td><td>13</td></tr><tr><td>zeroBubble</td><td>57.2</td><td>45.9</td><td>78.4</td><td>0.71</td><td>0.59</td><td>13</td><td>13</td></tr></tbody></table><p>Compiled: the same step by accelerator.compile. PyTorch&#39;s steps run without torch.compile. 8 dense layers of 512 units, 8 micro-batches of 64 rows, SGD, 2 ranks of one thread. interleaved has two stages a rank. PyTorch&#39;s zero bubble is ScheduleInterleavedZeroBubble with one stage a rank.</p><p>Repeat it: <code>npm run bench:pipeline -- --repeats 3</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/pipeline.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const pipeline = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  pipeline as default
};
