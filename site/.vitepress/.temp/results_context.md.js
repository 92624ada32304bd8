import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"context","description":"","frontmatter":{},"headers":[],"relativePath":"results/context.md","filePath":"bench/results/context.md"}');
const _sfc_main = { name: "results/context.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="context" tabindex="-1">context <a class="header-anchor" href="#context" aria-label="Permalink to &quot;context&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v769; 2026-11-26; load before the run 1.9. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0. Device: cpu. Precision: fp32.</p><table tabindex="0"><thead><tr><th>attention</th><th>ranks</th><th>ms a step</th><th>beside one rank</th><th>peak MB</th><th>beside one rank</th></tr></thead><tbody><tr><td>one rank</td><td>1</td><td>3,961</td><td>1.00</td><td>337</td><td>1.00</td></tr><tr><td>ring</td><td>2</td><td>2,151</td><td>0.54</td><td>169</td><td>0.50</td></tr><tr><td>heads</td><td>2</td><td>2,110</td><td>0.53</td><td>177</td><td>0.53</td></tr><tr><td>one rank, causal</td><td>1</td><td>2,333</td><td>1.00</td><td>337</td><td>1.00</td></tr><tr><td>ring, causal</td><td>2</td><td>1,279</td><td>0.55</td><td>177</td><td>0.53</td></tr><tr><td>heads, causal</td><td>2</td><td>1,284</td><td>0.55</td><td>177</td><td>0.53</td></tr></tbody></table><p>2 transformer blocks of 4 heads and 256 columns, rotary positions, one sequence of 8,192 positions, Adam, ranks of one thread, shared memory. Times are medians of 6 steps. Memory is the peak of tensors of rank 0 in a step, above what it has before the first.</p><p>Repeat it: <code>npm run bench:context</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/context.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const context = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  context as default
};
