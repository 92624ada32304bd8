import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"tape","description":"","frontmatter":{},"headers":[],"relativePath":"results/tape.md","filePath":"bench/results/tape.md"}');
const _sfc_main = { name: "results/tape.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="tape" tabindex="-1">tape <a class="header-anchor" href="#tape" aria-label="Permalink to &quot;tape&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v669; 2026-11-21; load before the run 14.8. node 20.20.2, tfjs 4.22.0. Device: cpu.</p><table tabindex="0"><thead><tr><th>chain</th><th>operators</th><th>operators alone</th><th>ours</th><th>of its own</th><th>tfjs&#39;s</th><th>of its own</th></tr></thead><tbody><tr><td>y = −y</td><td>100</td><td>5.0</td><td>11.9</td><td>6.9</td><td>14.0</td><td>9.0</td></tr><tr><td>y = −y</td><td>1,000</td><td>4.3</td><td>8.8</td><td>4.5</td><td>9.1</td><td>4.8</td></tr><tr><td>y = −y</td><td>10,000</td><td>6.4</td><td>11.3</td><td>4.9</td><td>15.2</td><td>8.8</td></tr><tr><td>y = y · x</td><td>100</td><td>18.6</td><td>39.8</td><td>21.2</td><td>34.6</td><td>15.9</td></tr><tr><td>y = y · x</td><td>1,000</td><td>28.2</td><td>46.3</td><td>18.0</td><td>48.4</td><td>20.1</td></tr><tr><td>y = y · x</td><td>10,000</td><td>19.6</td><td>48.0</td><td>28.4</td><td>47.7</td><td>28.1</td></tr></tbody></table><p>Microseconds of CPU time a node of the backward pass, all threads together: the median of repeats, in turn. Operators alone: what the gradient functions compute, without tape or gradient. Of its own is the rest: the walk, its scopes, what it frees of what was saved, and the garbage collector. Of a product tfjs saves both factors, each by a clone that is a node of its own on the tape: three nodes in all.</p><p>Repeat it: <code>npm run bench:tape</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/tape.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const tape = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  tape as default
};
