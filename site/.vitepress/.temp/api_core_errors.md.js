import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Errors","description":"","frontmatter":{"pageClass":"api","editLink":false},"headers":[],"relativePath":"api/core/errors.md","filePath":"api/core/errors.md"}');
const _sfc_main = { name: "api/core/errors.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="errors" tabindex="-1">Errors <a class="header-anchor" href="#errors" aria-label="Permalink to &quot;Errors&quot;">​</a></h1><p>From <a href="./">@acc/core</a>.</p><table tabindex="0"><thead><tr><th>name</th><th></th></tr></thead><tbody><tr><td><a href="#accerror"><code>AccError</code></a></td><td>The only error class.</td></tr><tr><td><a href="#isaccerror"><code>isAccError</code></a></td><td>Whether a value is an AccError, including one of another copy of this package.</td></tr></tbody></table><h2 id="references" tabindex="-1">References <a class="header-anchor" href="#references" aria-label="Permalink to &quot;References&quot;">​</a></h2><h3 id="accerror" tabindex="-1">AccError <a class="header-anchor" href="#accerror" aria-label="Permalink to &quot;AccError&quot;">​</a></h3><p>Re-exports <a href="./../contract/errors.html#accerror">AccError</a></p><h3 id="isaccerror" tabindex="-1">isAccError <a class="header-anchor" href="#isaccerror" aria-label="Permalink to &quot;isAccError&quot;">​</a></h3><p>Re-exports <a href="./../contract/errors.html#isaccerror">isAccError</a></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("api/core/errors.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const errors = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  errors as default
};
