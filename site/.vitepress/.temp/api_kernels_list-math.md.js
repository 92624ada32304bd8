import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"List math","description":"","frontmatter":{"pageClass":"api","editLink":false},"headers":[],"relativePath":"api/kernels/list-math.md","filePath":"api/kernels/list-math.md"}');
const _sfc_main = { name: "api/kernels/list-math.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="list-math" tabindex="-1">List math <a class="header-anchor" href="#list-math" aria-label="Permalink to &quot;List math&quot;">​</a></h1><p>From <a href="./">@acc/kernels</a>.</p><table tabindex="0"><thead><tr><th>name</th><th></th></tr></thead><tbody><tr><td><a href="#portablelists"><code>portableLists</code></a></td><td>List math tensor by tensor, in tfjs&#39;s operations.</td></tr></tbody></table><h2 id="functions" tabindex="-1">Functions <a class="header-anchor" href="#functions" aria-label="Permalink to &quot;Functions&quot;">​</a></h2><h3 id="portablelists" tabindex="-1">portableLists() <a class="header-anchor" href="#portablelists" aria-label="Permalink to &quot;portableLists()&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">function</span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;"> portableLists</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">()</span><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">:</span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;"> ListMath</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">;</span></span></code></pre></div><p>List math tensor by tensor, in tfjs&#39;s operations. Works on every backend.</p><h4 id="returns" tabindex="-1">Returns <a class="header-anchor" href="#returns" aria-label="Permalink to &quot;Returns&quot;">​</a></h4><p><a href="./../contract/kernel-layer.html#listmath"><code>ListMath</code></a></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("api/kernels/list-math.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const listMath = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  listMath as default
};
