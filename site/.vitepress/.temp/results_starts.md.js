import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"starts","description":"","frontmatter":{},"headers":[],"relativePath":"results/starts.md","filePath":"bench/results/starts.md"}');
const _sfc_main = { name: "results/starts.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="starts" tabindex="-1">starts <a class="header-anchor" href="#starts" aria-label="Permalink to &quot;starts&quot;">​</a></h1><p>AMD EPYC, 2 cores, 24 GiB, Linux 6.18.44-fc-v782; 2026-11-29; load before the run 3.0. Node.js 20.20.2, tfjs 4.22.0. Device: cpu. Precision: fp32.</p><table tabindex="0"><thead><tr><th>start</th><th>s until both are there</th><th>processor s of a process</th></tr></thead><tbody><tr><td>two ranks</td><td>1.01 (0.99–1.06)</td><td>0.85 (0.84–0.89)</td></tr><tr><td>two bare processes</td><td>0.48 (0.46–0.49)</td><td>0.46 (0.45–0.47)</td></tr></tbody></table><p>Repeat it: <code>npm run bench:starts</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/starts.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const starts = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  starts as default
};
