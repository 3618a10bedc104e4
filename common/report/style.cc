#include <string>

#include "absl/strings/str_cat.h"
#include "common/report/html.h"

namespace coppice::report {
namespace {

// Every pair of text and ground has a contrast of 4.5 to 1 or more, in light and in dark. Print is
// always light.
constexpr char kChartStyle[] = R"css(
:root{--ground:#fcfcfa;--card:#fff;--ink:#18211c;--quiet:#55625b;--rule:#dfe3de;--accent:#1b6b48;
--s0:#1b6b48;--s1:#b2481a;--s2:#2f5db0;--s3:#8b3a86;--s4:#746100;--s5:#18737f;--heat:27,107,72}
@media screen and (prefers-color-scheme:dark){:root{--ground:#121614;--card:#1a201d;--ink:#e7ece8;
--quiet:#a3afa8;--rule:#303933;--accent:#74cf9f;--s0:#74cf9f;--s1:#f0976a;--s2:#8fb4f5;--s3:#dc95d8;
--s4:#d8c25a;--s5:#6fcbd8;--heat:116,207,159}}
.s0{--c:var(--s0)}.s1{--c:var(--s1)}.s2{--c:var(--s2)}.s3{--c:var(--s3)}.s4{--c:var(--s4)}
.s5{--c:var(--s5)}.quiet{--c:var(--quiet)}
.chart{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;
font-size:13px}
.chart .paper{fill:var(--ground)}
.chart .grid{stroke:var(--rule)}
.chart .axis{stroke:var(--quiet)}
.chart .level{stroke:var(--quiet);stroke-dasharray:2 5;stroke-width:1.5;stroke-linecap:round}
.chart .line{fill:none;stroke:var(--c);stroke-width:2.5;stroke-linejoin:round;stroke-linecap:round}
.chart .dots{stroke:var(--c);stroke-width:1.5;stroke-dasharray:2 4}
.chart .bar{stroke:var(--c);stroke-width:1.25}
.chart .span{stroke:var(--c);stroke-width:8;stroke-linecap:round;stroke-opacity:.35}
.chart .band{fill:var(--c);fill-opacity:.14}
.chart .dot{fill:var(--c)}
.chart .hollow{fill:var(--ground);stroke:var(--c);stroke-width:2}
.chart text{fill:var(--quiet)}
.chart .label{fill:var(--c,var(--ink));font-weight:600}
.chart .name{fill:var(--ink)}
.chart .tick{font-size:12px;font-variant-numeric:tabular-nums}
)css";

constexpr char kPageStyle[] = R"css(
*{box-sizing:border-box}
html{color-scheme:light dark;background:var(--ground);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;
-webkit-text-size-adjust:100%}
body{max-width:58rem;margin:0 auto;padding:2.5rem 1.5rem 3rem}
header{border-bottom:1px solid var(--rule);padding-bottom:1.25rem;margin-bottom:1.75rem}
.kind{margin:0;font-size:.8125rem;font-weight:650;letter-spacing:.02em;color:var(--accent)}
.kind span{color:var(--quiet);font-weight:400;margin-left:.6em;padding-left:.7em;
border-left:1px solid var(--rule)}
h1{font-size:1.75rem;line-height:1.2;margin:.35rem 0 0;letter-spacing:-.015em;overflow-wrap:anywhere}
h2{font-size:1.125rem;margin:0 0 .75rem;letter-spacing:-.005em}
.lead{font-size:1.1875rem;line-height:1.45;margin:.75rem 0 0;max-width:46rem;overflow-wrap:anywhere}
section{margin:0 0 2.25rem}
p{margin:0 0 .75rem;max-width:46rem;overflow-wrap:anywhere}
ul.says{margin:0;padding:0;list-style:none}
ul.says li{padding:.45rem 0 .45rem 1.25rem;position:relative;max-width:46rem;overflow-wrap:anywhere}
ul.says li::before{content:"";position:absolute;left:0;top:1.02rem;width:.45rem;height:.45rem;
border-radius:50%;background:var(--accent)}
.remark{color:var(--quiet);font-size:.875rem;border-left:3px solid var(--rule);padding-left:.9rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.7rem;
margin:0 0 1.25rem}
.figures div{background:var(--card);border:1px solid var(--rule);border-radius:.6rem;
padding:.8rem 1rem .75rem}
.figures dt{font-size:.8125rem;color:var(--quiet);overflow-wrap:anywhere}
.figures dd{margin:0}
.figures b{display:block;font-size:1.625rem;line-height:1.25;font-weight:650;letter-spacing:-.02em;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.figures div:first-child b{color:var(--accent)}
.figures span{font-size:.8125rem;color:var(--quiet)}
.chart{display:block;width:100%;max-width:52rem;height:auto;margin:0 0 .75rem}
.square .chart{max-width:27rem}.low .chart{max-width:42rem}
.scroll{overflow-x:auto}
.scroll:focus-visible,summary:focus-visible{outline:2px solid var(--accent);outline-offset:3px}
table{border-collapse:collapse;font-size:.9375rem;font-variant-numeric:tabular-nums}
figure{margin:0 0 1.25rem}
figcaption{font-size:.8125rem;color:var(--quiet);margin-bottom:.35rem;max-width:46rem}
th,td{text-align:left;padding:.4rem .95rem;border-bottom:1px solid var(--rule);vertical-align:top}
th:first-child{padding-left:0}
th{font-weight:600}
thead th{font-size:.8125rem;color:var(--quiet);border-bottom-color:var(--quiet)}
.n{text-align:right;white-space:nowrap}
td small{display:block;font-size:.75rem;color:var(--quiet)}
.heat{text-align:right;min-width:5.5rem;border:2px solid var(--ground)}
.heat small{color:inherit;opacity:.85}
.h1{background:rgba(var(--heat),.06)}.h2{background:rgba(var(--heat),.12)}
.h3{background:rgba(var(--heat),.18)}.h4{background:rgba(var(--heat),.24)}
.h5{background:rgba(var(--heat),.3)}.h6{background:rgba(var(--heat),.36)}
.right{box-shadow:inset 0 0 0 1.5px var(--accent)}
details{margin:.15rem 0}
summary{cursor:pointer;padding:.15rem .3rem;border-radius:.3rem;overflow-wrap:anywhere}
summary:hover{background:rgba(var(--heat),.1)}
.tree{margin:0 0 1rem;padding:.55rem .9rem;background:var(--card);border:1px solid var(--rule);
border-radius:.6rem}
.tree details,.tree .leaf{margin-left:1.1rem;padding-left:.7rem;border-left:1px solid var(--rule)}
.tree>details{margin-left:0;padding-left:0;border-left:0}
.tree .leaf{padding:.15rem 0 .15rem 1.05rem;margin-top:.15rem}
.way{display:inline-block;min-width:2.9em;text-align:center;font-size:.75rem;line-height:1.4;
color:var(--quiet);border:1px solid var(--rule);border-radius:1rem;margin-right:.35em}
.sure{color:var(--quiet);font-variant-numeric:tabular-nums}
footer{border-top:1px solid var(--rule);margin-top:2.5rem;padding-top:.9rem;font-size:.8125rem;
color:var(--quiet)}
footer p{margin:0}
@media (max-width:36rem){body{padding:1.5rem 1rem 2rem}h1{font-size:1.4375rem}
.lead{font-size:1.0625rem}}
@page{size:A4;margin:16mm 17mm}
@media print{html{font-size:9.5pt;background:#fff}body{max-width:none;padding:0}
header{padding-bottom:.8rem;margin-bottom:1.1rem}section{margin-bottom:1.25rem}
footer{margin-top:1.25rem}p,ul.says li,.lead{max-width:none}h2{margin-bottom:.4rem}
h2,figcaption,summary{break-after:avoid}.figures,.chart,tr,.figures div{break-inside:avoid}
ul.says li{padding-top:.2rem;padding-bottom:.2rem}ul.says li::before{top:.7rem}
.scroll{overflow:visible}table{font-size:.9em}th,td{padding-top:.25rem;padding-bottom:.25rem}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";

}  // namespace

absl::string_view ChartStyleSheet() { return kChartStyle; }

absl::string_view StyleSheet() {
  static const std::string* const style = new std::string(absl::StrCat(kChartStyle, kPageStyle));
  return *style;
}

}  // namespace coppice::report
