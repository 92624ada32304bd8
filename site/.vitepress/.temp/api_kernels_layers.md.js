import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Layers","description":"","frontmatter":{"pageClass":"api","editLink":false},"headers":[],"relativePath":"api/kernels/layers.md","filePath":"api/kernels/layers.md"}');
const _sfc_main = { name: "api/kernels/layers.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="layers" tabindex="-1">Layers <a class="header-anchor" href="#layers" aria-label="Permalink to &quot;Layers&quot;">​</a></h1><p>From <a href="./">@acc/kernels</a>.</p><table tabindex="0"><thead><tr><th>name</th><th></th></tr></thead><tbody><tr><td><a href="#droppedinputs"><code>droppedInputs</code></a></td><td>The inputs of a layer whose cell has a <code>call</code> of its own, dropped with the mask that the layer has without it.</td></tr></tbody></table><h2 id="functions" tabindex="-1">Functions <a class="header-anchor" href="#functions" aria-label="Permalink to &quot;Functions&quot;">​</a></h2><h3 id="droppedinputs" tabindex="-1">droppedInputs() <a class="header-anchor" href="#droppedinputs" aria-label="Permalink to &quot;droppedInputs()&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">function</span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;"> droppedInputs</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">(</span></span>
<span class="line" style="--indent:3ch;"><span style="--shiki-light:#E36209;--shiki-dark:#FFAB70;">   layer</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">, </span></span>
<span class="line" style="--indent:3ch;"><span style="--shiki-light:#E36209;--shiki-dark:#FFAB70;">   x</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">, </span></span>
<span class="line" style="--indent:3ch;"><span style="--shiki-light:#E36209;--shiki-dark:#FFAB70;">   kwargs</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">)</span><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">:</span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;"> Tensor</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">&lt;</span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;">Rank</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">&gt; </span><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">|</span><span style="--shiki-light:#005CC5;--shiki-dark:#79B8FF;"> undefined</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">;</span></span></code></pre></div><p>The inputs of a layer whose cell has a <code>call</code> of its own, dropped with the mask that the layer has without it. Undefined if the cell draws the masks in both cases.</p><h4 id="parameters" tabindex="-1">Parameters <a class="header-anchor" href="#parameters" aria-label="Permalink to &quot;Parameters&quot;">​</a></h4><table tabindex="0"><thead><tr><th>Parameter</th><th>Type</th></tr></thead><tbody><tr><td><code>layer</code></td><td><code>RecurrentLayer</code></td></tr><tr><td><code>x</code></td><td><code>Tensor</code></td></tr><tr><td><code>kwargs</code></td><td><code>Kwargs</code></td></tr></tbody></table><h4 id="returns" tabindex="-1">Returns <a class="header-anchor" href="#returns" aria-label="Permalink to &quot;Returns&quot;">​</a></h4><p><code>Tensor</code>&lt;<code>Rank</code>&gt; | <code>undefined</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("api/kernels/layers.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const layers = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  layers as default
};
