import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"trackers","description":"","frontmatter":{},"headers":[],"relativePath":"results/trackers.md","filePath":"bench/results/trackers.md"}');
const _sfc_main = { name: "results/trackers.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="trackers" tabindex="-1">trackers <a class="header-anchor" href="#trackers" aria-label="Permalink to &quot;trackers&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v669; 2026-11-22; load before the run 1.6. node 20.20.2, tfjs 4.22.0. Device: cpu. Precision: fp32.</p><table tabindex="0"><thead><tr><th>blocks</th><th>steps</th><th>median, ms</th><th>median / silent</th><th>mean, ms</th><th>CPU of all threads, ms a step</th></tr></thead><tbody><tr><td>silent</td><td>5,475</td><td>6.915</td><td>1.000</td><td>6.940</td><td>7.031</td></tr><tr><td>logging</td><td>5,282</td><td>6.991</td><td>1.011</td><td>7.195</td><td>7.298</td></tr><tr><td>silent again</td><td>5,221</td><td>6.840</td><td>0.989</td><td>6.895</td><td>6.958</td></tr></tbody></table><p>An MLP of 784-1024-1024-10, batches of 64, one thread; 60,860 scalars were logged, 1000 a second, to jsonl, csv, tensorboard, wandb, mlflow, all at once; MLflow&#39;s server is a process that stores nothing. Blocks of 2 s take turns; 1.2 s between them are left out. A step lasts from the end of the one before, so that what trackers do between steps is part of it. What the two silent blocks differ by is noise.</p><p>Repeat it: <code>npm run bench:trackers</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/trackers.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const trackers = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  trackers as default
};
