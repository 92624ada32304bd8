import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Plugins and strategies","description":"","frontmatter":{"pageClass":"api","editLink":false},"headers":[],"relativePath":"api/core/plugins-and-strategies.md","filePath":"api/core/plugins-and-strategies.md"}');
const _sfc_main = { name: "api/core/plugins-and-strategies.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="plugins-and-strategies" tabindex="-1">Plugins and strategies <a class="header-anchor" href="#plugins-and-strategies" aria-label="Permalink to &quot;Plugins and strategies&quot;">​</a></h1><p>From <a href="./">@acc/core</a>.</p><table tabindex="0"><thead><tr><th>name</th><th></th></tr></thead><tbody><tr><td><a href="#plugin"><code>Plugin</code></a></td><td>Takes part in the steps of an Accelerator.</td></tr><tr><td><a href="#strategy"><code>Strategy</code></a></td><td>How parameters are held and gradients combined over the ranks of a group.</td></tr></tbody></table><h2 id="references" tabindex="-1">References <a class="header-anchor" href="#references" aria-label="Permalink to &quot;References&quot;">​</a></h2><h3 id="plugin" tabindex="-1">Plugin <a class="header-anchor" href="#plugin" aria-label="Permalink to &quot;Plugin&quot;">​</a></h3><p>Re-exports <a href="./../contract/plugin.html#plugin">Plugin</a></p><h3 id="strategy" tabindex="-1">Strategy <a class="header-anchor" href="#strategy" aria-label="Permalink to &quot;Strategy&quot;">​</a></h3><p>Re-exports <a href="./../contract/strategy.html#strategy">Strategy</a></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("api/core/plugins-and-strategies.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const pluginsAndStrategies = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  pluginsAndStrategies as default
};
