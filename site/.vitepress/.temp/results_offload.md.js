import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"offload","description":"","frontmatter":{},"headers":[],"relativePath":"results/offload.md","filePath":"bench/results/offload.md"}');
const _sfc_main = { name: "results/offload.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="offload" tabindex="-1">offload <a class="header-anchor" href="#offload" aria-label="Permalink to &quot;offload&quot;">​</a></h1><p>AMD EPYC, 2 cores, 24 GiB, Linux 6.18.44-fc-v595; 2026-11-24; load before the run 12.2. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0. Device: cpu. Precision: fp32.</p><table tabindex="0"><thead><tr><th>ranks</th><th>parameters and state</th><th>MB above idle</th><th>peak MB</th><th>idle MB</th><th>ms a step</th><th>beside memory</th></tr></thead><tbody><tr><td>1</td><td>in memory</td><td>2,279</td><td>2,648</td><td>370</td><td>2,080</td><td>1.00</td></tr><tr><td>1</td><td>in files</td><td>289</td><td>650</td><td>360</td><td>7,229</td><td>3.47</td></tr><tr><td>4</td><td>in memory</td><td>734</td><td>1,113</td><td>380</td><td>8,124</td><td>1.00</td></tr><tr><td>4</td><td>in files</td><td>303</td><td>682</td><td>379</td><td>12,854</td><td>1.58</td></tr></tbody></table><p>120 layers of 1024 × 1024 float32 weights, 126 M parameters, 256 rows a rank, Adam, ranks of one thread, fsdp in stage 3. Over all ranks, parameters are 503 MB, Adam&#39;s state 1,007 MB, and gradients 503 MB; a rank has its share of each. In a step, 5,033 MB of them are read from files and written to files: parameters are read in forward, backward and the update. Memory is resident memory of the process, as the kernel counts it, of the rank that has the most: its peak (<code>VmHWM</code>), and the same process before the network is made (<code>VmRSS</code>, when it has taken steps of one layer). 252 MB of it are activations: results of products and of tanh. Files are read and written past the page cache where the disk has direct I/O. Time is the mean of 2 steps.</p><p>Repeat it: <code>npm run bench:offload -- --steps 2</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/offload.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const offload = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  offload as default
};
