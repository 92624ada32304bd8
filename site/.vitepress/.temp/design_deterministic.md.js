import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"How @acc/deterministic works","description":"","frontmatter":{},"headers":[],"relativePath":"design/deterministic.md","filePath":"packages/deterministic/DESIGN.md"}');
const _sfc_main = { name: "design/deterministic.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="how-accdeterministic-works" tabindex="-1">How @acc/deterministic works <a class="header-anchor" href="#how-accdeterministic-works" aria-label="Permalink to &quot;How @acc/deterministic works&quot;">​</a></h1><p><a href="./../packages/deterministic.html">README.md</a> is for users. <a href="./../project/architecture.html">ARCHITECTURE.md</a> has the whole.</p><h2 id="the-same-bits-on-any-number-of-ranks" tabindex="-1">The same bits on any number of ranks <a class="header-anchor" href="#the-same-bits-on-any-number-of-ranks" aria-label="Permalink to &quot;The same bits on any number of ranks&quot;">​</a></h2><p><code>deterministic</code> (packages/deterministic) stands between tfjs&#39;s engine and the backend&#39;s kernels. It registers each kernel anew, under a function that looks at the inputs first.</p><div class="language-text vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">text</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span>prepared data ─► tensors in shards, one for each virtual shard that this rank has</span></span>
<span class="line" style="--indent:6ch;"><span>      │</span></span>
<span class="line"><span>kernel with such an input ─► its rule: which inputs are cut, what changes in the attributes, what the results are</span></span>
<span class="line" style="--indent:6ch;"><span>      │                        rows ──── shards one below the other</span></span>
<span class="line" style="--indent:6ch;"><span>      │                        a sum ─── shards to be added up in pairs</span></span>
<span class="line" style="--indent:6ch;"><span>      └─► the backend&#39;s kernel on one shard after the other</span></span>
<span class="line" style="--indent:6ch;"><span>      ┊</span></span>
<span class="line"><span>gradient of a variable ─► joined in pairs ─► strategy ─► treeCollective: the pairs go on over ranks</span></span></code></pre></div><p>Above the kernels nothing changes: tape, gradient functions, layers and optimizers see tensors of the whole local batch. A shard has the shape, the memory layout and the alignment that it has on a rank with this virtual shard alone, and therefore the bits of its kernels. Shards are joined only when somebody asks for the whole (<code>ShardsLayer</code> of <code>contract</code>, in <code>kernels/src/shards</code>). A kernel without such a rule is computed on the whole, and its result is marked. A marked tensor is fine for a metric; it is an error where it is about to reach a gradient. Factors that turn a mean over one rank&#39;s rows into that over all are powers of two, and round nothing.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("design/deterministic.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const deterministic = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  deterministic as default
};
