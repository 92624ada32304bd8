import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"compile-rss","description":"","frontmatter":{},"headers":[],"relativePath":"results/compile-rss.md","filePath":"bench/results/compile-rss.md"}');
const _sfc_main = { name: "results/compile-rss.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="compile-rss" tabindex="-1">compile-rss <a class="header-anchor" href="#compile-rss" aria-label="Permalink to &quot;compile-rss&quot;">​</a></h1><p>Memory of the whole process while a GPT trains: 4 layers, width 256, 4 heads, sequence 128, vocabulary 96, batch 16, in plain operators, Adam, float32, 1 thread. AMD EPYC, 2 cores, 24 GiB; 2026-11-28; other programs ran beside it. node 20.20.2, libtorch 2.13.0, torch 2.13.0+cpu.</p><table tabindex="0"><thead><tr><th>step</th><th>peak, MiB</th><th>after 7 steps or more, MiB</th><th>peak / PyTorch</th><th>allocator&#39;s peak, MiB</th></tr></thead><tbody><tr><td>PyTorch eager</td><td>573</td><td>562</td><td>1.00</td><td>–</td></tr><tr><td>plain</td><td>572</td><td>554</td><td>1.00</td><td>193</td></tr><tr><td>compiled, results wait while recorded</td><td>577</td><td>560</td><td>1.01</td><td>193</td></tr><tr><td>compiled, each result computed at once</td><td>761</td><td>539</td><td>1.33</td><td>353</td></tr></tbody></table><p>The peak is <code>VmHWM</code> of <code>/proc/self/status</code>, the memory after the steps <code>VmRSS</code>. The last row is the version before, which computed each result of a recorded step at once.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/compile-rss.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const compileRss = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  compileRss as default
};
