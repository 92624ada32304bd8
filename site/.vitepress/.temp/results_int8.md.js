import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"int8","description":"","frontmatter":{},"headers":[],"relativePath":"results/int8.md","filePath":"bench/results/int8.md"}');
const _sfc_main = { name: "results/int8.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="int8" tabindex="-1">int8 <a class="header-anchor" href="#int8" aria-label="Permalink to &quot;int8&quot;">​</a></h1><p>AMD EPYC, 2 cores, 24 GiB, Linux 6.18.44-fc-v595; 2026-11-30; load before the run 31.4. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0. Device: cpu. Precision: each.</p><table tabindex="0"><thead><tr><th>step</th><th>float32</th><th>least</th><th>bf16</th><th>least</th><th>int8</th><th>least</th><th>int8 / bf16</th><th>of the least</th></tr></thead><tbody><tr><td>plain</td><td>541</td><td>540</td><td>341</td><td>330</td><td>239</td><td>233</td><td>0.70</td><td>0.71</td></tr><tr><td>compiled</td><td>491</td><td>488</td><td>275</td><td>273</td><td>190</td><td>188</td><td>0.69</td><td>0.69</td></tr></tbody></table><p>Milliseconds of processor time of one step of the GPT of 4 × 256 with Adam on one thread: the median and the least of 1 × 2 blocks (processes × blocks of each). The precisions take turns.</p><p>Repeat it: <code>npm run bench:int8 -- 1 2</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/int8.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const int8 = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  int8 as default
};
