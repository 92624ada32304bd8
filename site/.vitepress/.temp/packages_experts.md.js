import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"@acc/experts","description":"","frontmatter":{},"headers":[],"relativePath":"packages/experts.md","filePath":"packages/experts/README.md"}');
const _sfc_main = { name: "packages/experts.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="accexperts" tabindex="-1">@acc/experts <a class="header-anchor" href="#accexperts" aria-label="Permalink to &quot;@acc/experts&quot;">​</a></h1><blockquote><p>A private package, which the published <a href="./core.html"><code>@acc/core</code></a> contains.</p></blockquote><p>Expert parallelism on the axis <code>expert</code> of a mesh (Lepikhin et al., &quot;GShard&quot;, 2020): each rank holds the weights, gradients and optimizer state of some experts of a mixture, and rows go to the ranks of their experts. Programs ask for it by <code>mesh: { expert: n }</code> of <a href="./core.html"><code>@acc/core</code></a>, with <code>moe</code> of <a href="./transformer.html"><code>@acc/transformer</code></a>. <a href="./../design/experts.html">DESIGN.md</a> says how it works.</p><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">import</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;"> { ddp } </span><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">from</span><span style="--shiki-light:#032F62;--shiki-dark:#9ECBFF;"> &#39;@acc/ddp&#39;</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">;</span></span>
<span class="line"><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">import</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;"> { expertParallel } </span><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">from</span><span style="--shiki-light:#032F62;--shiki-dark:#9ECBFF;"> &#39;@acc/experts&#39;</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">;</span></span>
<span class="line"></span>
<span class="line"><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">const</span><span style="--shiki-light:#005CC5;--shiki-dark:#79B8FF;"> strategy</span><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;"> =</span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;"> expertParallel</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">(</span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;">ddp</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">());</span></span></code></pre></div><p><code>expertParallel(others)</code> is a placer of <a href="./placement.html"><code>@acc/placement</code></a> around <code>ddp</code> or <code>fsdp</code>, which hold and reduce all other variables. Variables that <code>markCut</code> marks along the axis <code>expert</code> are held in parts. Gradients of experts are summed over the ranks with the same experts.</p><table tabindex="0"><thead><tr><th>code</th><th>thrown when</th></tr></thead><tbody><tr><td><a href="./../errors/sharding.html#acc_experts_uneven"><code>ACC_EXPERTS_UNEVEN</code></a></td><td>the ranks of the axis cannot share the experts of a layer equally</td></tr><tr><td><a href="./../errors/sharding.html#acc_strategy_cannot"><code>ACC_STRATEGY_CANNOT</code></a></td><td>the strategy for other variables reduces gradients at <code>apply</code></td></tr><tr><td></td><td>the backend cannot free parameters, or an optimizer needs whole weights</td></tr></tbody></table></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("packages/experts.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const experts = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  experts as default
};
