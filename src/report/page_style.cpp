// page_style: the looks of a report: light and dark, wide and narrow.
#include "report/page_style.h"

namespace plimsoll {

// Colours were chosen to keep apart for eyes that see no red or no green, in both schemes.
const char* const kPageStyle = R"(
:root { color-scheme: light dark; --paper:#f6f8fa; --card:#fff; --edge:#d8dee4; --ink:#1f2328; --dim:#59636e; --grid:#e6eaef;
  --axis:#8c959f; --c1:#0969da; --c2:#bc4c00; --c3:#1a7f37; --c4:#8250df; --limit:#cf222e; --good:#1a7f37; --ground:#eef1f4;
  --life0:#54aeff; --life1:#ffb77c; --life2:#a5d6a7; --life3:#d2a8ff; --life4:#4493f8; --life5:#c8d1da; --life6:#f5d76e; --inside:#10243c; }
@media (prefers-color-scheme: dark) { :root { --paper:#0d1117; --card:#151b23; --edge:#30363d; --ink:#f0f6fc; --dim:#9198a1;
  --grid:#262c36; --axis:#656c76; --c1:#58a6ff; --c2:#f0883e; --c3:#3fb950; --c4:#bc8cff; --limit:#ff7b72; --good:#3fb950; --ground:#0d1117;
  --life0:#388bfd; --life1:#db8a4a; --life2:#57ab5a; --life3:#986ee2; --life4:#1f6feb; --life5:#545d68; --life6:#c69026; --inside:#f0f6fc; } }
* { box-sizing: border-box; }
body { margin:0; background:var(--paper); color:var(--ink);
  font:15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; -webkit-text-size-adjust:100%; }
main { max-width:1120px; margin:0 auto; padding:20px 16px 40px; }
h1 { font-size:24px; line-height:1.2; margin:0; overflow-wrap:anywhere; }
h2 { font-size:15px; margin:0 0 4px; }
p { margin:0 0 8px; }
.dim, .note { color:var(--dim); }
.note { font-size:13px; }
header { margin-bottom:16px; }
.state { display:inline-block; font-size:12px; font-weight:600; padding:1px 9px; margin-left:8px; border:1px solid; border-radius:99px; vertical-align:4px; }
.state.done { color:var(--good); } .state.on { color:var(--c1); } .state.off { color:var(--limit); }
.tiles { display:grid; gap:12px; grid-template-columns:repeat(auto-fit, minmax(150px, 1fr)); margin-bottom:12px; }
.cards { columns:2 430px; column-gap:12px; }
.cards .card { break-inside:avoid; margin:0 0 12px; }
.card, .tile { background:var(--card); border:1px solid var(--edge); border-radius:10px; padding:14px 16px; min-width:0; }
.tile b { display:block; font-size:22px; line-height:1.3; font-weight:600; font-variant-numeric:tabular-nums; }
.tile span { color:var(--dim); font-size:13px; }
.cards .wide { column-span:all; margin:12px 0; }
.gauge { position:relative; height:14px; border-radius:7px; background:var(--ground); border:1px solid var(--edge); margin:10px 0 6px; overflow:hidden; }
.gauge i { position:absolute; left:0; top:0; bottom:0; background:var(--c1); }
.gauge u { position:absolute; top:0; bottom:0; width:2px; background:var(--ink); }
svg { display:block; width:100%; height:auto; }
svg text { font-family:inherit; font-size:11px; fill:var(--ink); }
svg .tick, svg .dim { fill:var(--dim); }
svg .inside { fill:var(--inside); font-size:10.5px; pointer-events:none; }
.grid { stroke:var(--grid); } .axis { stroke:var(--axis); } .ground { fill:var(--ground); }
.line { fill:none; stroke-width:2; stroke-linejoin:round; stroke-linecap:round; }
.line.thin { stroke-width:1.2; opacity:.55; } .line.dash { stroke-dasharray:5 4; }
.c1 { stroke:var(--c1); } .c2 { stroke:var(--c2); } .c3 { stroke:var(--c3); } .c4 { stroke:var(--c4); } .limit { stroke:var(--limit); stroke-dasharray:6 4; }
.dot { fill:var(--card); stroke-width:2; }
.f1 { fill:var(--c1); } .f2 { fill:var(--c2); } .f3 { fill:var(--c3); } .f4 { fill:var(--c4); }
.faint { opacity:.55; }
.legend { display:flex; flex-wrap:wrap; gap:2px 14px; font-size:12.5px; color:var(--dim); margin:0 0 6px; }
.legend i, td i { display:inline-block; width:14px; height:9px; border-radius:2px; margin-right:5px; }
.legend svg { display:inline-block; width:20px; height:9px; margin-right:5px; }
)"
                               R"(
.life0 { fill:var(--life0); background:var(--life0); } .life1 { fill:var(--life1); background:var(--life1); }
.life2 { fill:var(--life2); background:var(--life2); } .life3 { fill:var(--life3); background:var(--life3); }
.life4 { fill:var(--life4); background:var(--life4); } .life5 { fill:var(--life5); background:var(--life5); }
.life6 { fill:var(--life6); background:var(--life6); }
ul { margin:4px 0 0; padding-left:20px; } li { margin:0 0 6px; }
table { border-collapse:collapse; font-size:13.5px; font-variant-numeric:tabular-nums; width:100%; }
th, td { padding:4px 8px 4px 0; text-align:right; border-bottom:1px solid var(--grid); font-weight:400; overflow-wrap:anywhere; }
th:first-child, td:first-child { text-align:left; color:var(--dim); } thead th { color:var(--dim); } td + td, thead th:last-child { white-space:nowrap; }
.scroll { overflow-x:auto; }
.confusion { width:auto; border-collapse:separate; border-spacing:2px; font-size:12px; }
.confusion td, .confusion th { border:0; text-align:center; padding:3px 5px; min-width:30px; border-radius:3px; }
.confusion td { color:var(--ink); background:color-mix(in srgb, var(--tone) calc(var(--p) * 1%), var(--ground)); }
.confusion td.hit { --tone:var(--c1); } .confusion td.miss { --tone:var(--c2); }
.confusion td.hot { color:var(--card); } .confusion td.none { color:var(--dim); } .confusion th { color:var(--dim); }
.named th span { writing-mode:vertical-rl; transform:rotate(180deg); white-space:nowrap; } .named th { text-align:left; vertical-align:bottom; }
.confusion tr > th:first-child { position:sticky; left:0; background:var(--card); white-space:nowrap; }
.examples td, .examples th { text-align:left; color:var(--ink); white-space:normal; vertical-align:top; overflow-wrap:break-word; }
.examples thead th { color:var(--dim); } .of-text td:first-child { width:60%; overflow-wrap:anywhere; }
.right { color:var(--c1); } .wrong { color:var(--c2); }
.steps { display:flex; flex-wrap:wrap; gap:3px 2px; align-items:flex-start; margin:0 0 12px; font:12.5px/1.35 ui-monospace, "DejaVu Sans Mono", monospace; }
.steps span { display:flex; flex-direction:column; align-items:center; border-radius:3px; padding:0 3px; min-width:14px; background:var(--ground); }
.steps b { font-weight:400; } .steps i, .steps em { font-style:normal; font-size:10.5px; } .steps i { color:var(--c2); } .steps em { color:var(--dim); } .steps .hit em { color:var(--ink); opacity:.8; }
.steps .hit { background:color-mix(in srgb, var(--c1) calc(var(--p) * 1%), var(--ground)); } .steps .start { color:var(--dim); }
.charts { display:grid; gap:12px; grid-template-columns:repeat(auto-fit, minmax(min(300px, 100%), 1fr)); } .charts > div { max-width:480px; min-width:0; }
details { margin-top:12px; } summary { cursor:pointer; color:var(--dim); }
pre { overflow-x:auto; font-size:12px; line-height:1.45; background:var(--ground); padding:10px 12px; border-radius:8px; margin:8px 0 0; }
footer { margin-top:24px; color:var(--dim); font-size:12.5px; }
@media (max-width:480px) { main { padding:14px 10px 30px; } .card, .tile { padding:12px; } h1 { font-size:21px; }
  .tiles { grid-template-columns:repeat(2, minmax(0, 1fr)); gap:8px; } .tile b { font-size:18px; } .cards .card { margin-bottom:8px; }
  .of-text tr { display:grid; grid-template-columns:repeat(3, minmax(0, 1fr)); } .of-text tr > :first-child { grid-column:1 / -1; width:auto; border:0; padding-bottom:0; } }
)";

}  // namespace plimsoll
