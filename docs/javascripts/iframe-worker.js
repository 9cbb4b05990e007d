/*! Contains iframe-worker (MIT).

Copyright (c) 2020-2022 Martin Donath <martin.donath@squidfunk.com>

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to
deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or
sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NON-INFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING
FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS
IN THE SOFTWARE.
*/
"use strict";(()=>{(()=>{function a(e,r){parent.postMessage(e,r||"*")}function c(...e){return e.reduce((r,t)=>r.then(()=>new Promise(s=>{let o=document.createElement("script");o.src=t,o.onload=s,document.body.appendChild(o)})),Promise.resolve())}var n=class extends EventTarget{constructor(e){super(),this.url=e,this.m=t=>{t.source===this.w&&(this.dispatchEvent(new MessageEvent("message",{data:t.data})),this.onmessage&&this.onmessage(t))},this.e=(t,s,o,h,d)=>{if(s===`${this.url}`){let i=new ErrorEvent("error",{message:t,filename:s,lineno:o,colno:h,error:d});this.dispatchEvent(i),this.onerror&&this.onerror(i)}};let r=document.createElement("iframe");r.hidden=!0,document.body.appendChild(this.iframe=r),this.w.document.open(),this.w.document.write(`<html><body><script>postMessage=${a};importScripts=${c};addEventListener("error",({error})=>{parent.dispatchEvent(new ErrorEvent("error",{filename:"${e}",error}))})<\/script><script src=${e}?${+Date.now()}><\/script></body></html>`),this.w.document.close(),onmessage=this.m,onerror=this.e,this.r=new Promise((t,s)=>{this.w.onload=t,this.w.onerror=s})}terminate(){this.iframe.remove(),onmessage=onerror=null}postMessage(e){this.r.catch().then(()=>{this.w.dispatchEvent(new MessageEvent("message",structuredClone({data:e})))})}get w(){return this.iframe.contentWindow}};window.IFrameWorker=n,location.protocol==="file:"&&(window.Worker=n)})();})();
