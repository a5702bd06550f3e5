0000000000025dc0 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E>:
   25dc0:	push   %rbx
   25dc1:	sub    $0x160,%rsp
   25dc8:	cmpb   $0x0,0x468(%rdi)
   25dcf:	je     26378 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x5b8>
   25dd5:	mov    0x8(%rsi),%rax
   25dd9:	mov    0x18(%rsi),%rcx
   25ddd:	cmp    %rax,%rcx
   25de0:	cmovb  %rcx,%rax
   25de4:	test   %rax,%rax
   25de7:	je     26526 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x766>
   25ded:	mov    (%rsi),%rcx
   25df0:	mov    0x10(%rsi),%rdx
   25df4:	movzbl 0x78(%rdi),%esi
   25df8:	movsd  0x28(%rdi),%xmm0
   25dfd:	movaps %xmm0,(%rsp)
   25e01:	movsd  0x50(%rdi),%xmm0
   25e06:	movsd  %xmm0,0xc0(%rsp)
   25e0f:	movzbl 0x188(%rdi),%r8d
   25e17:	movsd  0x160(%rdi),%xmm0
   25e1f:	movsd  %xmm0,0xb0(%rsp)
   25e28:	movzbl 0x298(%rdi),%r9d
   25e30:	movsd  0x270(%rdi),%xmm0
   25e38:	movsd  %xmm0,0xa0(%rsp)
   25e41:	movzbl 0x3a8(%rdi),%r10d
   25e49:	movsd  0x380(%rdi),%xmm0
   25e51:	movsd  %xmm0,0x110(%rsp)
   25e5a:	movups 0x68(%rdi),%xmm0
   25e5e:	movaps %xmm0,0x100(%rsp)
   25e66:	movups 0x58(%rdi),%xmm0
   25e6a:	movaps %xmm0,0xf0(%rsp)
   25e72:	movups 0x40(%rdi),%xmm0
   25e76:	movaps %xmm0,0x10(%rsp)
   25e7b:	movups 0x30(%rdi),%xmm0
   25e7f:	movaps %xmm0,0x40(%rsp)
   25e84:	movupd 0xc0(%rdi),%xmm1
   25e8c:	movupd 0xd0(%rdi),%xmm8
   25e95:	movsd  0x138(%rdi),%xmm0
   25e9d:	movaps %xmm0,0x30(%rsp)
   25ea2:	movups 0x178(%rdi),%xmm0
   25ea9:	movaps %xmm0,0xe0(%rsp)
   25eb1:	movups 0x168(%rdi),%xmm0
   25eb8:	movaps %xmm0,0xd0(%rsp)
   25ec0:	movups 0x150(%rdi),%xmm0
   25ec7:	movaps %xmm0,0x20(%rsp)
   25ecc:	movups 0x140(%rdi),%xmm0
   25ed3:	movaps %xmm0,0x90(%rsp)
   25edb:	xor    %r11d,%r11d
   25ede:	movupd 0x1d0(%rdi),%xmm11
   25ee7:	movupd 0x1e0(%rdi),%xmm12
   25ef0:	movsd  0x248(%rdi),%xmm13
   25ef9:	movups 0x288(%rdi),%xmm0
   25f00:	movaps %xmm0,0x150(%rsp)
   25f08:	movups 0x278(%rdi),%xmm0
   25f0f:	movaps %xmm0,0x140(%rsp)
   25f17:	movups 0x260(%rdi),%xmm0
   25f1e:	movaps %xmm0,0x80(%rsp)
   25f26:	movups 0x250(%rdi),%xmm0
   25f2d:	movaps %xmm0,0x70(%rsp)
   25f32:	movupd 0x2e0(%rdi),%xmm0
   25f3a:	movupd 0x2f0(%rdi),%xmm6
   25f42:	movsd  0x358(%rdi),%xmm2
   25f4a:	movaps %xmm2,0x60(%rsp)
   25f4f:	movups 0x398(%rdi),%xmm2
   25f56:	movaps %xmm2,0x130(%rsp)
   25f5e:	movups 0x388(%rdi),%xmm2
   25f65:	movaps %xmm2,0x120(%rsp)
   25f6d:	movupd 0x370(%rdi),%xmm2
   25f75:	movapd %xmm2,0x50(%rsp)
   25f7b:	movupd 0x360(%rdi),%xmm5
   25f83:	movupd 0x3f0(%rdi),%xmm9
   25f8c:	movupd 0x400(%rdi),%xmm4
   25f94:	jmp    26130 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x370>
   25f99:	nopl   0x0(%rax)
   25fa0:	movapd 0x40(%rsp),%xmm10
   25fa7:	movapd %xmm10,%xmm3
   25fac:	unpcklpd %xmm10,%xmm3
   25fb1:	mulpd  %xmm15,%xmm3
   25fb6:	addpd  %xmm3,%xmm8
   25fbb:	movapd %xmm8,%xmm14
   25fc0:	movapd %xmm10,%xmm8
   25fc5:	unpckhpd %xmm10,%xmm8
   25fca:	mulpd  %xmm15,%xmm8
   25fcf:	movapd 0x10(%rsp),%xmm10
   25fd6:	movapd %xmm10,%xmm3
   25fdb:	unpcklpd %xmm10,%xmm3
   25fe0:	mulpd  %xmm1,%xmm3
   25fe4:	subpd  %xmm3,%xmm14
   25fe9:	movapd %xmm10,%xmm3
   25fee:	unpckhpd %xmm10,%xmm3
   25ff3:	mulpd  %xmm1,%xmm3
   25ff7:	subpd  %xmm3,%xmm8
   25ffc:	movapd 0x90(%rsp),%xmm13
   26006:	movapd %xmm13,%xmm3
   2600b:	unpcklpd %xmm13,%xmm3
   26010:	mulpd  %xmm1,%xmm3
   26014:	addpd  %xmm3,%xmm12
   26019:	movapd 0x20(%rsp),%xmm10
   26020:	movapd %xmm10,%xmm3
   26025:	unpcklpd %xmm10,%xmm3
   2602a:	mulpd  %xmm11,%xmm3
   2602f:	movapd %xmm12,%xmm15
   26034:	subpd  %xmm3,%xmm15
   26039:	movapd %xmm13,%xmm12
   2603e:	unpckhpd %xmm13,%xmm12
   26043:	mulpd  %xmm1,%xmm12
   26048:	movapd %xmm10,%xmm1
   2604d:	unpckhpd %xmm10,%xmm1
   26052:	mulpd  %xmm11,%xmm1
   26057:	subpd  %xmm1,%xmm12
   2605c:	movapd 0x70(%rsp),%xmm13
   26063:	movapd %xmm13,%xmm1
   26068:	unpcklpd %xmm13,%xmm1
   2606d:	mulpd  %xmm11,%xmm1
   26072:	addpd  %xmm1,%xmm6
   26076:	movapd 0x80(%rsp),%xmm10
   26080:	movapd %xmm10,%xmm1
   26085:	unpcklpd %xmm10,%xmm1
   2608a:	mulpd  %xmm0,%xmm1
   2608e:	movapd %xmm6,%xmm3
   26092:	subpd  %xmm1,%xmm3
   26096:	movapd %xmm13,%xmm6
   2609b:	unpckhpd %xmm13,%xmm6
   260a0:	mulpd  %xmm11,%xmm6
   260a5:	movapd %xmm10,%xmm1
   260aa:	unpckhpd %xmm10,%xmm1
   260af:	mulpd  %xmm0,%xmm1
   260b3:	subpd  %xmm1,%xmm6
   260b7:	movapd %xmm5,%xmm1
   260bb:	unpcklpd %xmm5,%xmm1
   260bf:	mulpd  %xmm0,%xmm1
   260c3:	addpd  %xmm1,%xmm4
   260c7:	movapd 0x50(%rsp),%xmm11
   260ce:	movapd %xmm11,%xmm1
   260d3:	unpcklpd %xmm11,%xmm1
   260d8:	mulpd  %xmm9,%xmm1
   260dd:	movapd %xmm4,%xmm10
   260e2:	subpd  %xmm1,%xmm10
   260e7:	movapd %xmm5,%xmm4
   260eb:	unpckhpd %xmm5,%xmm4
   260ef:	mulpd  %xmm0,%xmm4
   260f3:	movapd %xmm11,%xmm0
   260f8:	unpckhpd %xmm11,%xmm0
   260fd:	mulpd  %xmm9,%xmm0
   26102:	subpd  %xmm0,%xmm4
   26106:	movss  %xmm7,(%rdx,%r11,4)
   2610c:	inc    %r11
   2610f:	movapd %xmm14,%xmm1
   26114:	movapd %xmm15,%xmm11
   26119:	movapd %xmm3,%xmm0
   2611d:	movapd %xmm10,%xmm9
   26122:	cmp    %r11,%rax
   26125:	movapd %xmm2,%xmm13
   2612a:	je     264e1 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x721>
   26130:	movss  (%rdx,%r11,4),%xmm7
   26136:	movss  (%rcx,%r11,4),%xmm14
   2613c:	test   %sil,%sil
   2613f:	je     26210 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x450>
   26145:	movapd (%rsp),%xmm3
   2614a:	addsd  0xc0(%rsp),%xmm3
   26153:	movapd %xmm3,(%rsp)
   26158:	movsd  %xmm3,0x28(%rdi)
   2615d:	movapd 0x10(%rsp),%xmm3
   26163:	addpd  0x100(%rsp),%xmm3
   2616c:	movapd 0x40(%rsp),%xmm10
   26173:	addpd  0xf0(%rsp),%xmm10
   2617d:	movapd %xmm10,0x40(%rsp)
   26184:	movupd %xmm10,0x30(%rdi)
   2618a:	movapd %xmm3,0x10(%rsp)
   26190:	movupd %xmm3,0x40(%rdi)
   26195:	test   %r8b,%r8b
   26198:	jne    26215 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x455>
   2619a:	movapd 0x60(%rsp),%xmm10
   261a1:	test   %r9b,%r9b
   261a4:	je     26286 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x4c6>
   261aa:	addsd  0xa0(%rsp),%xmm13
   261b4:	movsd  %xmm13,0x248(%rdi)
   261bd:	movapd 0x80(%rsp),%xmm2
   261c6:	addpd  0x150(%rsp),%xmm2
   261cf:	movapd 0x70(%rsp),%xmm3
   261d5:	addpd  0x140(%rsp),%xmm3
   261de:	movapd %xmm3,0x70(%rsp)
   261e4:	movupd %xmm3,0x250(%rdi)
   261ec:	movapd %xmm2,0x80(%rsp)
   261f5:	movupd %xmm2,0x260(%rdi)
   261fd:	test   %r10b,%r10b
   26200:	jne    2628b <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x4cb>
   26206:	jmp    262cc <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x50c>
   2620b:	nopl   0x0(%rax,%rax,1)
   26210:	test   %r8b,%r8b
   26213:	je     2619a <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x3da>
   26215:	movapd 0x30(%rsp),%xmm3
   2621b:	addsd  0xb0(%rsp),%xmm3
   26224:	movapd %xmm3,0x30(%rsp)
   2622a:	movsd  %xmm3,0x138(%rdi)
   26232:	movapd 0x20(%rsp),%xmm3
   26238:	addpd  0xe0(%rsp),%xmm3
   26241:	movapd 0x90(%rsp),%xmm10
   2624b:	addpd  0xd0(%rsp),%xmm10
   26255:	movapd %xmm10,0x90(%rsp)
   2625f:	movupd %xmm10,0x140(%rdi)
   26268:	movapd %xmm3,0x20(%rsp)
   2626e:	movupd %xmm3,0x150(%rdi)
   26276:	movapd 0x60(%rsp),%xmm10
   2627d:	test   %r9b,%r9b
   26280:	jne    261aa <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x3ea>
   26286:	test   %r10b,%r10b
   26289:	je     262cc <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x50c>
   2628b:	addsd  0x110(%rsp),%xmm10
   26295:	movsd  %xmm10,0x358(%rdi)
   2629e:	movapd 0x50(%rsp),%xmm2
   262a4:	addpd  0x130(%rsp),%xmm2
   262ad:	addpd  0x120(%rsp),%xmm5
   262b6:	movupd %xmm5,0x360(%rdi)
   262be:	movapd %xmm2,0x50(%rsp)
   262c4:	movupd %xmm2,0x370(%rdi)
   262cc:	unpcklps %xmm7,%xmm14
   262d0:	cvtps2pd %xmm14,%xmm15
   262d4:	movapd (%rsp),%xmm3
   262d9:	unpcklpd %xmm3,%xmm3
   262dd:	mulpd  %xmm15,%xmm3
   262e2:	addpd  %xmm3,%xmm1
   262e6:	movapd 0x30(%rsp),%xmm3
   262ec:	unpcklpd %xmm3,%xmm3
   262f0:	mulpd  %xmm1,%xmm3
   262f4:	addpd  %xmm3,%xmm11
   262f9:	movapd %xmm13,%xmm3
   262fe:	unpcklpd %xmm13,%xmm3
   26303:	mulpd  %xmm11,%xmm3
   26308:	addpd  %xmm3,%xmm0
   2630c:	movapd %xmm10,0x60(%rsp)
   26313:	movapd %xmm10,%xmm3
   26318:	unpcklpd %xmm10,%xmm3
   2631d:	mulpd  %xmm0,%xmm3
   26321:	addpd  %xmm3,%xmm9
   26326:	cvtpd2ps %xmm9,%xmm3
   2632b:	movapd %xmm3,%xmm7
   2632f:	andpd  -0x16a07(%rip),%xmm7        # f930 <anon.d446a082bd0fbea32b9baf37ddc62d26.61.llvm.11406749328066489001+0x55c>
   26337:	cmpltps -0x16a6f(%rip),%xmm7        # f8d0 <anon.d446a082bd0fbea32b9baf37ddc62d26.61.llvm.11406749328066489001+0x4fc>
   2633f:	unpcklps %xmm7,%xmm7
   26342:	movmskpd %xmm7,%ebx
   26346:	xorps  %xmm7,%xmm7
   26349:	xorpd  %xmm10,%xmm10
   2634e:	test   $0x1,%bl
   26351:	jne    26358 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x598>
   26353:	movapd %xmm3,%xmm10
   26358:	movapd %xmm13,%xmm2
   2635d:	movss  %xmm10,(%rcx,%r11,4)
   26363:	test   $0x2,%bl
   26366:	jne    25fa0 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x1e0>
   2636c:	shufps $0x55,%xmm3,%xmm3
   26370:	movaps %xmm3,%xmm7
   26373:	jmp    25fa0 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x1e0>
   26378:	mov    0x20(%rdi),%rax
   2637c:	cmp    $0x3,%rax
   26380:	ja     26a51 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0xc91>
   26386:	lea    -0x15ae1(%rip),%rcx        # 108ac <anon.9e0a2038ed987258c1d7fe472a5cd920.185.llvm.5521524273661284794+0x10>
   2638d:	movslq (%rcx,%rax,4),%rax
   26391:	add    %rcx,%rax
   26394:	jmp    *%rax
   26396:	mov    (%rdi),%rax
   26399:	cmp    $0x3,%rax
   2639d:	ja     26fac <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x11ec>
   263a3:	imul   $0x110,%rax,%rax
   263aa:	movupd 0xc0(%rdi,%rax,1),%xmm6
   263b3:	movupd 0xd0(%rdi,%rax,1),%xmm5
   263bc:	mov    0x8(%rsi),%rcx
   263c0:	mov    0x18(%rsi),%rdx
   263c4:	cmp    %rcx,%rdx
   263c7:	cmovb  %rdx,%rcx
   263cb:	test   %rcx,%rcx
   263ce:	je     26e65 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x10a5>
   263d4:	movsd  0x28(%rdi,%rax,1),%xmm0
   263da:	movsd  0x30(%rdi,%rax,1),%xmm1
   263e0:	movsd  0x38(%rdi,%rax,1),%xmm2
   263e6:	movsd  0x40(%rdi,%rax,1),%xmm3
   263ec:	movsd  0x48(%rdi,%rax,1),%xmm4
   263f2:	mov    (%rsi),%rdx
   263f5:	mov    0x10(%rsi),%rsi
   263f9:	unpcklpd %xmm0,%xmm0
   263fd:	unpcklpd %xmm1,%xmm1
   26401:	unpcklpd %xmm3,%xmm3
   26405:	unpcklpd %xmm2,%xmm2
   26409:	unpcklpd %xmm4,%xmm4
   2640d:	xor    %r8d,%r8d
   26410:	movapd -0x16ae8(%rip),%xmm7        # f930 <anon.d446a082bd0fbea32b9baf37ddc62d26.61.llvm.11406749328066489001+0x55c>
   26418:	movaps -0x16b50(%rip),%xmm8        # f8d0 <anon.d446a082bd0fbea32b9baf37ddc62d26.61.llvm.11406749328066489001+0x4fc>
   26420:	jmp    26470 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x6b0>
   26422:	data16 data16 data16 data16 cs nopw 0x0(%rax,%rax,1)
   26430:	movapd %xmm1,%xmm6
   26434:	mulpd  %xmm9,%xmm6
   26439:	addpd  %xmm5,%xmm6
   2643d:	movapd %xmm10,%xmm5
   26442:	mulpd  %xmm3,%xmm5
   26446:	subpd  %xmm5,%xmm6
   2644a:	mulpd  %xmm2,%xmm9
   2644f:	mulpd  %xmm4,%xmm10
   26454:	subpd  %xmm10,%xmm9
   26459:	movss  %xmm11,(%rsi,%r8,4)
   2645f:	inc    %r8
   26462:	movapd %xmm9,%xmm5
   26467:	cmp    %r8,%rcx
   2646a:	je     26e6a <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x10aa>
   26470:	movss  (%rsi,%r8,4),%xmm9
   26476:	movss  (%rdx,%r8,4),%xmm10
   2647c:	unpcklps %xmm9,%xmm10
   26480:	cvtps2pd %xmm10,%xmm9
   26484:	movapd %xmm0,%xmm10
   26489:	mulpd  %xmm9,%xmm10
   2648e:	addpd  %xmm6,%xmm10
   26493:	cvtpd2ps %xmm10,%xmm6
   26498:	movapd %xmm6,%xmm11
   2649d:	andpd  %xmm7,%xmm11
   264a2:	cmpltps %xmm8,%xmm11
   264a7:	unpcklps %xmm11,%xmm11
   264ab:	movmskpd %xmm11,%r9d
   264b0:	xorps  %xmm11,%xmm11
   264b4:	xorpd  %xmm12,%xmm12
   264b9:	test   $0x1,%r9b
   264bd:	jne    264c4 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x704>
   264bf:	movapd %xmm6,%xmm12
   264c4:	movss  %xmm12,(%rdx,%r8,4)
   264ca:	test   $0x2,%r9b
   264ce:	jne    26430 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x670>
   264d4:	shufps $0x55,%xmm6,%xmm6
   264d8:	movaps %xmm6,%xmm11
   264dc:	jmp    26430 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x670>
   264e1:	movupd %xmm14,0xc0(%rdi)
   264ea:	movupd %xmm8,0xd0(%rdi)
   264f3:	movupd %xmm15,0x1d0(%rdi)
   264fc:	movupd %xmm12,0x1e0(%rdi)
   26505:	movupd %xmm3,0x2e0(%rdi)
   2650d:	movupd %xmm6,0x2f0(%rdi)
   26515:	movupd %xmm10,0x3f0(%rdi)
   2651e:	movupd %xmm4,0x400(%rdi)
   26526:	add    $0x160,%rsp
   2652d:	pop    %rbx
   2652e:	ret
   2652f:	mov    (%rdi),%rax
   26532:	cmp    $0x4,%rax
   26536:	jae    26fac <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x11ec>
   2653c:	mov    0x8(%rdi),%rcx
   26540:	cmp    $0x4,%rcx
   26544:	jae    26f79 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x11b9>
   2654a:	lea    0x28(%rdi),%r8
   2654e:	imul   $0x110,%rax,%rax
   26555:	lea    (%r8,%rax,1),%rdx
   26559:	imul   $0x110,%rcx,%rcx
   26560:	movupd 0x98(%rdx),%xmm11
   26569:	movupd 0xa8(%rdx),%xmm15
   26572:	movupd 0x98(%r8,%rcx,1),%xmm13
   2657c:	movupd 0xa8(%r8,%rcx,1),%xmm14
   26586:	mov    0x8(%rsi),%rdx
   2658a:	mov    0x18(%rsi),%r9
   2658e:	cmp    %rdx,%r9
   26591:	cmovb  %r9,%rdx
   26595:	test   %rdx,%rdx
   26598:	je     26e86 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x10c6>
   2659e:	movsd  (%r8,%rax,1),%xmm0
   265a4:	movsd  0x8(%r8,%rax,1),%xmm2
   265ab:	movsd  0x10(%r8,%rax,1),%xmm4
   265b2:	movsd  0x18(%r8,%rax,1),%xmm5
   265b9:	movsd  0x20(%r8,%rax,1),%xmm6
   265c0:	movsd  (%r8,%rcx,1),%xmm1
   265c6:	movsd  0x8(%r8,%rcx,1),%xmm8
   265cd:	movsd  0x10(%r8,%rcx,1),%xmm9
   265d4:	movsd  0x18(%r8,%rcx,1),%xmm3
   265db:	movsd  0x20(%r8,%rcx,1),%xmm10
   265e2:	mov    (%rsi),%r8
   265e5:	mov    0x10(%rsi),%rsi
   265e9:	unpcklpd %xmm0,%xmm0
   265ed:	movapd %xmm0,(%rsp)
   265f2:	movlhps %xmm2,%xmm2
   265f5:	movaps %xmm2,0x10(%rsp)
   265fa:	unpcklpd %xmm5,%xmm5
   265fe:	unpcklpd %xmm4,%xmm4
   26602:	unpcklpd %xmm6,%xmm6
   26606:	unpcklpd %xmm1,%xmm1
   2660a:	unpcklpd %xmm8,%xmm8
   2660f:	unpcklpd %xmm3,%xmm3
   26613:	unpcklpd %xmm9,%xmm9
   26618:	unpcklpd %xmm10,%xmm10
   2661d:	xor    %r9d,%r9d
   26620:	jmp    266ac <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x8ec>
   26625:	data16 cs nopw 0x0(%rax,%rax,1)
   26630:	movapd 0x10(%rsp),%xmm11
   26637:	mulpd  %xmm12,%xmm11
   2663c:	addpd  %xmm15,%xmm11
   26641:	movapd %xmm7,%xmm13
   26646:	mulpd  %xmm5,%xmm13
   2664b:	subpd  %xmm13,%xmm11
   26650:	mulpd  %xmm4,%xmm12
   26655:	movapd %xmm7,%xmm13
   2665a:	mulpd  %xmm6,%xmm13
   2665f:	subpd  %xmm13,%xmm12
   26664:	movapd %xmm7,%xmm13
   26669:	mulpd  %xmm8,%xmm13
   2666e:	addpd  %xmm14,%xmm13
   26673:	movapd %xmm0,%xmm14
   26678:	mulpd  %xmm3,%xmm14
   2667d:	subpd  %xmm14,%xmm13
   26682:	mulpd  %xmm9,%xmm7
   26687:	mulpd  %xmm10,%xmm0
   2668c:	subpd  %xmm0,%xmm7
   26690:	movss  %xmm2,(%rsi,%r9,4)
   26696:	inc    %r9
   26699:	movapd %xmm12,%xmm15
   2669e:	movapd %xmm7,%xmm14
   266a3:	cmp    %r9,%rdx
   266a6:	je     26e90 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x10d0>
   266ac:	movss  (%rsi,%r9,4),%xmm0
   266b2:	movss  (%r8,%r9,4),%xmm2
   266b8:	unpcklps %xmm0,%xmm2
   266bb:	cvtps2pd %xmm2,%xmm12
   266bf:	movapd (%rsp),%xmm7
   266c4:	mulpd  %xmm12,%xmm7
   266c9:	addpd  %xmm11,%xmm7
   266ce:	movapd %xmm7,%xmm0
   266d2:	mulpd  %xmm1,%xmm0
   266d6:	addpd  %xmm13,%xmm0
   266db:	cvtpd2ps %xmm0,%xmm11
   266e0:	movapd %xmm11,%xmm2
   266e5:	andpd  -0x16dbd(%rip),%xmm2        # f930 <anon.d446a082bd0fbea32b9baf37ddc62d26.61.llvm.11406749328066489001+0x55c>
   266ed:	cmpltps -0x16e25(%rip),%xmm2        # f8d0 <anon.d446a082bd0fbea32b9baf37ddc62d26.61.llvm.11406749328066489001+0x4fc>
   266f5:	unpcklps %xmm2,%xmm2
   266f8:	movmskpd %xmm2,%r10d
   266fd:	xorps  %xmm2,%xmm2
   26700:	xorpd  %xmm13,%xmm13
   26705:	test   $0x1,%r10b
   26709:	jne    26710 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x950>
   2670b:	movapd %xmm11,%xmm13
   26710:	movss  %xmm13,(%r8,%r9,4)
   26716:	test   $0x2,%r10b
   2671a:	jne    26630 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x870>
   26720:	shufps $0x55,%xmm11,%xmm11
   26725:	movaps %xmm11,%xmm2
   26729:	jmp    26630 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x870>
   2672e:	mov    (%rdi),%rax
   26731:	cmp    $0x4,%rax
   26735:	jae    26fac <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x11ec>
   2673b:	mov    0x8(%rdi),%rcx
   2673f:	cmp    $0x4,%rcx
   26743:	jae    26f79 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x11b9>
   26749:	mov    0x10(%rdi),%rdx
   2674d:	cmp    $0x3,%rdx
   26751:	ja     26f91 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x11d1>
   26757:	lea    0x28(%rdi),%r10
   2675b:	imul   $0x110,%rax,%rax
   26762:	movupd 0x98(%r10,%rax,1),%xmm6
   2676c:	movupd 0xa8(%r10,%rax,1),%xmm8
   26776:	imul   $0x110,%rcx,%rcx
   2677d:	lea    (%r10,%rcx,1),%r8
   26781:	imul   $0x110,%rdx,%rdx
   26788:	movupd 0x98(%r8),%xmm0
   26791:	movupd 0xa8(%r8),%xmm3
   2679a:	movupd 0x98(%r10,%rdx,1),%xmm1
   267a4:	movupd 0xa8(%r10,%rdx,1),%xmm2
   267ae:	mov    0x8(%rsi),%r8
   267b2:	mov    0x18(%rsi),%r9
   267b6:	cmp    %r8,%r9
   267b9:	cmovb  %r9,%r8
   267bd:	test   %r8,%r8
   267c0:	je     26ec0 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x1100>
   267c6:	movsd  (%r10,%rax,1),%xmm5
   267cc:	movsd  0x8(%r10,%rax,1),%xmm7
   267d3:	movsd  0x10(%r10,%rax,1),%xmm10
   267da:	movsd  0x18(%r10,%rax,1),%xmm9
   267e1:	movsd  0x20(%r10,%rax,1),%xmm11
   267e8:	movsd  (%r10,%rcx,1),%xmm4
   267ee:	movsd  0x8(%r10,%rcx,1),%xmm13
   267f5:	movsd  0x10(%r10,%rcx,1),%xmm14
   267fc:	movsd  0x18(%r10,%rcx,1),%xmm15
   26803:	movsd  0x20(%r10,%rcx,1),%xmm12
   2680a:	movaps %xmm12,(%rsp)
   2680f:	movsd  (%r10,%rdx,1),%xmm12
   26815:	movaps %xmm12,0xa0(%rsp)
   2681e:	movsd  0x8(%r10,%rdx,1),%xmm12
   26825:	movaps %xmm12,0xb0(%rsp)
   2682e:	movsd  0x10(%r10,%rdx,1),%xmm12
   26835:	movaps %xmm12,0xc0(%rsp)
   2683e:	movsd  0x18(%r10,%rdx,1),%xmm12
   26845:	mov    (%rsi),%r9
   26848:	mov    0x10(%rsi),%rsi
   2684c:	unpcklpd %xmm5,%xmm5
   26850:	movapd %xmm5,0x10(%rsp)
   26856:	movlhps %xmm7,%xmm7
   26859:	movaps %xmm7,0x40(%rsp)
   2685e:	movlhps %xmm9,%xmm9
   26862:	movaps %xmm9,0x30(%rsp)
   26868:	movlhps %xmm10,%xmm10
   2686c:	movaps %xmm10,0x20(%rsp)
   26872:	unpcklpd %xmm11,%xmm11
   26877:	movapd %xmm11,0x90(%rsp)
   26881:	movlhps %xmm4,%xmm4
   26884:	movaps %xmm4,0x80(%rsp)
   2688c:	movlhps %xmm13,%xmm13
   26890:	movaps %xmm13,0x70(%rsp)
   26896:	movlhps %xmm15,%xmm15
   2689a:	movaps %xmm15,0x60(%rsp)
   268a0:	movlhps %xmm14,%xmm14
   268a4:	movaps %xmm14,0x50(%rsp)
   268aa:	movaps (%rsp),%xmm4
   268ae:	movlhps %xmm4,%xmm4
   268b1:	movaps %xmm4,(%rsp)
   268b5:	movapd 0xa0(%rsp),%xmm4
   268be:	unpcklpd %xmm4,%xmm4
   268c2:	movapd 0xb0(%rsp),%xmm13
   268cc:	unpcklpd %xmm13,%xmm13
   268d1:	movlhps %xmm12,%xmm12
   268d5:	movaps %xmm12,%xmm14
   268d9:	movapd 0xc0(%rsp),%xmm15
   268e3:	unpcklpd %xmm15,%xmm15
   268e8:	movsd  0x20(%r10,%rdx,1),%xmm7
   268ef:	unpcklpd %xmm7,%xmm7
   268f3:	xor    %r10d,%r10d
   268f6:	movapd %xmm3,%xmm10
   268fb:	movapd %xmm2,%xmm9
   26900:	jmp    269c1 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0xc01>
   26905:	data16 cs nopw 0x0(%rax,%rax,1)
   26910:	movapd 0x40(%rsp),%xmm6
   26916:	mulpd  %xmm5,%xmm6
   2691a:	addpd  %xmm8,%xmm6
   2691f:	movapd %xmm3,%xmm0
   26923:	mulpd  0x30(%rsp),%xmm0
   26929:	subpd  %xmm0,%xmm6
   2692d:	mulpd  0x20(%rsp),%xmm5
   26933:	movapd %xmm3,%xmm0
   26937:	mulpd  0x90(%rsp),%xmm0
   26940:	subpd  %xmm0,%xmm5
   26944:	movapd %xmm3,%xmm0
   26948:	mulpd  0x70(%rsp),%xmm0
   2694e:	addpd  %xmm10,%xmm0
   26953:	movapd %xmm2,%xmm1
   26957:	mulpd  0x60(%rsp),%xmm1
   2695d:	subpd  %xmm1,%xmm0
   26961:	mulpd  0x50(%rsp),%xmm3
   26967:	movapd %xmm2,%xmm1
   2696b:	mulpd  (%rsp),%xmm1
   26970:	subpd  %xmm1,%xmm3
   26974:	movapd %xmm2,%xmm1
   26978:	mulpd  %xmm13,%xmm1
   2697d:	addpd  %xmm9,%xmm1
   26982:	movapd %xmm11,%xmm8
   26987:	mulpd  %xmm14,%xmm8
   2698c:	subpd  %xmm8,%xmm1
   26991:	mulpd  %xmm15,%xmm2
   26996:	mulpd  %xmm7,%xmm11
   2699b:	subpd  %xmm11,%xmm2
   269a0:	movss  %xmm12,(%rsi,%r10,4)
   269a6:	inc    %r10
   269a9:	movapd %xmm5,%xmm8
   269ae:	movapd %xmm3,%xmm10
   269b3:	movapd %xmm2,%xmm9
   269b8:	cmp    %r10,%r8
   269bb:	je     26ed4 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x1114>
   269c1:	movss  (%rsi,%r10,4),%xmm2
   269c7:	movss  (%r9,%r10,4),%xmm3
   269cd:	unpcklps %xmm2,%xmm3
   269d0:	cvtps2pd %xmm3,%xmm5
   269d3:	movapd 0x10(%rsp),%xmm3
   269d9:	mulpd  %xmm5,%xmm3
   269dd:	addpd  %xmm6,%xmm3
   269e1:	movapd %xmm3,%xmm2
   269e5:	mulpd  0x80(%rsp),%xmm2
   269ee:	addpd  %xmm0,%xmm2
   269f2:	movapd %xmm2,%xmm11
   269f7:	mulpd  %xmm4,%xmm11
   269fc:	addpd  %xmm1,%xmm11
   26a01:	cvtpd2ps %xmm11,%xmm0
   26a06:	movapd %xmm0,%xmm1
   26a0a:	andpd  -0x170e2(%rip),%xmm1        # f930 <anon.d446a082bd0fbea32b9baf37ddc62d26.61.llvm.11406749328066489001+0x55c>
   26a12:	cmpltps -0x1714a(%rip),%xmm1        # f8d0 <anon.d446a082bd0fbea32b9baf37ddc62d26.61.llvm.11406749328066489001+0x4fc>
   26a1a:	unpcklps %xmm1,%xmm1
   26a1d:	movmskpd %xmm1,%r11d
   26a22:	xorps  %xmm12,%xmm12
   26a26:	xorpd  %xmm1,%xmm1
   26a2a:	test   $0x1,%r11b
   26a2e:	jne    26a34 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0xc74>
   26a30:	movapd %xmm0,%xmm1
   26a34:	movss  %xmm1,(%r9,%r10,4)
   26a3a:	test   $0x2,%r11b
   26a3e:	jne    26910 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0xb50>
   26a44:	shufps $0x55,%xmm0,%xmm0
   26a48:	movaps %xmm0,%xmm12
   26a4c:	jmp    26910 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0xb50>
   26a51:	mov    (%rdi),%rax
   26a54:	cmp    $0x4,%rax
   26a58:	jae    26fac <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x11ec>
   26a5e:	mov    0x8(%rdi),%rcx
   26a62:	cmp    $0x4,%rcx
   26a66:	jae    26f79 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x11b9>
   26a6c:	mov    0x10(%rdi),%rdx
   26a70:	cmp    $0x3,%rdx
   26a74:	ja     26f91 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x11d1>
   26a7a:	mov    0x18(%rdi),%r8
   26a7e:	cmp    $0x3,%r8
   26a82:	ja     26fa9 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x11e9>
   26a88:	lea    0x28(%rdi),%r11
   26a8c:	imul   $0x110,%rax,%rax
   26a93:	movupd 0x98(%r11,%rax,1),%xmm4
   26a9d:	movupd 0xa8(%r11,%rax,1),%xmm0
   26aa7:	imul   $0x110,%rcx,%rcx
   26aae:	movupd 0x98(%r11,%rcx,1),%xmm6
   26ab8:	movupd 0xa8(%r11,%rcx,1),%xmm3
   26ac2:	imul   $0x110,%rdx,%rdx
   26ac9:	lea    (%r11,%rdx,1),%r9
   26acd:	imul   $0x110,%r8,%r8
   26ad4:	movupd 0x98(%r9),%xmm1
   26add:	movupd 0xa8(%r9),%xmm8
   26ae6:	movupd 0x98(%r11,%r8,1),%xmm2
   26af0:	movupd 0xa8(%r11,%r8,1),%xmm9
   26afa:	mov    0x8(%rsi),%r9
   26afe:	mov    0x18(%rsi),%r10
   26b02:	cmp    %r9,%r10
   26b05:	cmovb  %r10,%r9
   26b09:	test   %r9,%r9
   26b0c:	je     26f13 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x1153>
   26b12:	movsd  (%r11,%rax,1),%xmm5
   26b18:	movsd  0x8(%r11,%rax,1),%xmm7
   26b1f:	movsd  0x10(%r11,%rax,1),%xmm10
   26b26:	movsd  0x18(%r11,%rax,1),%xmm11
   26b2d:	movsd  0x20(%r11,%rax,1),%xmm12
   26b34:	movsd  (%r11,%rcx,1),%xmm13
   26b3a:	movsd  0x8(%r11,%rcx,1),%xmm14
   26b41:	movaps %xmm14,(%rsp)
   26b46:	movsd  0x10(%r11,%rcx,1),%xmm14
   26b4d:	movaps %xmm14,0x10(%rsp)
   26b53:	movsd  0x18(%r11,%rcx,1),%xmm15
   26b5a:	movsd  0x20(%r11,%rcx,1),%xmm14
   26b61:	movaps %xmm14,0x40(%rsp)
   26b67:	movsd  (%r11,%rdx,1),%xmm14
   26b6d:	movaps %xmm14,0x30(%rsp)
   26b73:	movsd  0x8(%r11,%rdx,1),%xmm14
   26b7a:	movaps %xmm14,0x20(%rsp)
   26b80:	movsd  0x18(%r11,%rdx,1),%xmm14
   26b87:	mov    (%rsi),%r10
   26b8a:	mov    0x10(%rsi),%rsi
   26b8e:	movlhps %xmm5,%xmm5
   26b91:	movaps %xmm5,0x90(%rsp)
   26b99:	unpcklpd %xmm7,%xmm7
   26b9d:	movapd %xmm7,0x80(%rsp)
   26ba6:	movlhps %xmm11,%xmm11
   26baa:	movaps %xmm11,0x60(%rsp)
   26bb0:	movlhps %xmm10,%xmm10
   26bb4:	movaps %xmm10,0x70(%rsp)
   26bba:	movlhps %xmm12,%xmm12
   26bbe:	movaps %xmm12,0x50(%rsp)
   26bc4:	movlhps %xmm13,%xmm13
   26bc8:	movaps %xmm13,0xc0(%rsp)
   26bd1:	movaps (%rsp),%xmm5
   26bd5:	movlhps %xmm5,%xmm5
   26bd8:	movaps %xmm5,(%rsp)
   26bdc:	movlhps %xmm15,%xmm15
   26be0:	movaps %xmm15,0xb0(%rsp)
   26be9:	movaps 0x10(%rsp),%xmm5
   26bee:	movlhps %xmm5,%xmm5
   26bf1:	movaps %xmm5,0x10(%rsp)
   26bf6:	movaps 0x40(%rsp),%xmm5
   26bfb:	movlhps %xmm5,%xmm5
   26bfe:	movaps %xmm5,0x40(%rsp)
   26c03:	movaps 0x30(%rsp),%xmm5
   26c08:	movlhps %xmm5,%xmm5
   26c0b:	movaps %xmm5,0x30(%rsp)
   26c10:	movaps 0x20(%rsp),%xmm5
   26c15:	movlhps %xmm5,%xmm5
   26c18:	movaps %xmm5,0x20(%rsp)
   26c1d:	movaps %xmm14,%xmm5
   26c21:	movlhps %xmm14,%xmm5
   26c25:	movaps %xmm5,0xa0(%rsp)
   26c2d:	movsd  0x10(%r11,%rdx,1),%xmm5
   26c34:	movlhps %xmm5,%xmm5
   26c37:	movaps %xmm5,0x110(%rsp)
   26c3f:	movsd  0x20(%r11,%rdx,1),%xmm5
   26c46:	movlhps %xmm5,%xmm5
   26c49:	movaps %xmm5,0x100(%rsp)
   26c51:	movsd  (%r11,%r8,1),%xmm5
   26c57:	movlhps %xmm5,%xmm5
   26c5a:	movaps %xmm5,0xf0(%rsp)
   26c62:	movsd  0x8(%r11,%r8,1),%xmm5
   26c69:	movlhps %xmm5,%xmm5
   26c6c:	movaps %xmm5,0xe0(%rsp)
   26c74:	movsd  0x18(%r11,%r8,1),%xmm5
   26c7b:	unpcklpd %xmm5,%xmm5
   26c7f:	movapd %xmm5,0xd0(%rsp)
   26c88:	movsd  0x10(%r11,%r8,1),%xmm14
   26c8f:	unpcklpd %xmm14,%xmm14
   26c94:	movsd  0x20(%r11,%r8,1),%xmm15
   26c9b:	unpcklpd %xmm15,%xmm15
   26ca0:	xor    %r11d,%r11d
   26ca3:	movapd %xmm8,%xmm10
   26ca8:	movapd %xmm9,%xmm11
   26cad:	movapd %xmm0,%xmm12
   26cb2:	jmp    26dbf <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0xfff>
   26cb7:	nopw   0x0(%rax,%rax,1)
   26cc0:	movapd 0x80(%rsp),%xmm4
   26cc9:	mulpd  %xmm0,%xmm4
   26ccd:	addpd  %xmm12,%xmm4
   26cd2:	movapd %xmm7,%xmm1
   26cd6:	mulpd  0x60(%rsp),%xmm1
   26cdc:	subpd  %xmm1,%xmm4
   26ce0:	mulpd  0x70(%rsp),%xmm0
   26ce6:	movapd %xmm7,%xmm1
   26cea:	mulpd  0x50(%rsp),%xmm1
   26cf0:	subpd  %xmm1,%xmm0
   26cf4:	movapd %xmm7,%xmm6
   26cf8:	mulpd  (%rsp),%xmm6
   26cfd:	addpd  %xmm3,%xmm6
   26d01:	movapd %xmm8,%xmm1
   26d06:	mulpd  0xb0(%rsp),%xmm1
   26d0f:	subpd  %xmm1,%xmm6
   26d13:	mulpd  0x10(%rsp),%xmm7
   26d19:	movapd %xmm8,%xmm1
   26d1e:	mulpd  0x40(%rsp),%xmm1
   26d24:	subpd  %xmm1,%xmm7
   26d28:	movapd %xmm8,%xmm1
   26d2d:	mulpd  0x20(%rsp),%xmm1
   26d33:	addpd  %xmm10,%xmm1
   26d38:	movapd %xmm9,%xmm2
   26d3d:	mulpd  0xa0(%rsp),%xmm2
   26d46:	subpd  %xmm2,%xmm1
   26d4a:	mulpd  0x110(%rsp),%xmm8
   26d54:	movapd %xmm9,%xmm2
   26d59:	mulpd  0x100(%rsp),%xmm2
   26d62:	subpd  %xmm2,%xmm8
   26d67:	movapd %xmm9,%xmm2
   26d6c:	mulpd  0xe0(%rsp),%xmm2
   26d75:	addpd  %xmm11,%xmm2
   26d7a:	movapd %xmm5,%xmm3
   26d7e:	mulpd  0xd0(%rsp),%xmm3
   26d87:	subpd  %xmm3,%xmm2
   26d8b:	mulpd  %xmm14,%xmm9
   26d90:	mulpd  %xmm15,%xmm5
   26d95:	subpd  %xmm5,%xmm9
   26d9a:	movss  %xmm13,(%rsi,%r11,4)
   26da0:	inc    %r11
   26da3:	movapd %xmm7,%xmm3
   26da7:	movapd %xmm8,%xmm10
   26dac:	movapd %xmm9,%xmm11
   26db1:	movapd %xmm0,%xmm12
   26db6:	cmp    %r11,%r9
   26db9:	je     26f25 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x1165>
   26dbf:	movss  (%rsi,%r11,4),%xmm0
   26dc5:	movss  (%r10,%r11,4),%xmm5
   26dcb:	unpcklps %xmm0,%xmm5
   26dce:	cvtps2pd %xmm5,%xmm0
   26dd1:	movapd 0x90(%rsp),%xmm7
   26dda:	mulpd  %xmm0,%xmm7
   26dde:	addpd  %xmm4,%xmm7
   26de2:	movapd %xmm7,%xmm8
   26de7:	mulpd  0xc0(%rsp),%xmm8
   26df1:	addpd  %xmm6,%xmm8
   26df6:	movapd %xmm8,%xmm9
   26dfb:	mulpd  0x30(%rsp),%xmm9
   26e02:	addpd  %xmm1,%xmm9
   26e07:	movapd %xmm9,%xmm5
   26e0c:	mulpd  0xf0(%rsp),%xmm5
   26e15:	addpd  %xmm2,%xmm5
   26e19:	cvtpd2ps %xmm5,%xmm1
   26e1d:	movapd %xmm1,%xmm2
   26e21:	andpd  -0x174f9(%rip),%xmm2        # f930 <anon.d446a082bd0fbea32b9baf37ddc62d26.61.llvm.11406749328066489001+0x55c>
   26e29:	cmpltps -0x17561(%rip),%xmm2        # f8d0 <anon.d446a082bd0fbea32b9baf37ddc62d26.61.llvm.11406749328066489001+0x4fc>
   26e31:	unpcklps %xmm2,%xmm2
   26e34:	movmskpd %xmm2,%ebx
   26e38:	xorps  %xmm13,%xmm13
   26e3c:	xorpd  %xmm2,%xmm2
   26e40:	test   $0x1,%bl
   26e43:	jne    26e49 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0x1089>
   26e45:	movapd %xmm1,%xmm2
   26e49:	movss  %xmm2,(%r10,%r11,4)
   26e4f:	test   $0x2,%bl
   26e52:	jne    26cc0 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0xf00>
   26e58:	shufps $0x55,%xmm1,%xmm1
   26e5c:	movaps %xmm1,%xmm13
   26e60:	jmp    26cc0 <_ZN10hocket_dsp7effects2eq2Eq11run_segment17h0a60f16cd9840fc9E+0xf00>
   26e65:	movapd %xmm5,%xmm9
   26e6a:	movupd %xmm6,0xc0(%rdi,%rax,1)
   26e73:	movupd %xmm9,0xd0(%rdi,%rax,1)
   26e7d:	add    $0x160,%rsp
   26e84:	pop    %rbx
   26e85:	ret
   26e86:	movapd %xmm14,%xmm7
   26e8b:	movapd %xmm15,%xmm12
   26e90:	movupd %xmm11,0xc0(%rdi,%rax,1)
   26e9a:	movupd %xmm12,0xd0(%rdi,%rax,1)
   26ea4:	movupd %xmm13,0xc0(%rdi,%rcx,1)
   26eae:	movupd %xmm7,0xd0(%rdi,%rcx,1)
   26eb7:	add    $0x160,%rsp
   26ebe:	pop    %rbx
   26ebf:	ret
   26ec0:	movsd  0xb0(%r10,%rax,1),%xmm4
   26eca:	unpcklpd %xmm4,%xmm8
   26ecf:	movapd %xmm8,%xmm5
   26ed4:	movupd %xmm6,0xc0(%rdi,%rax,1)
   26edd:	movupd %xmm5,0xd0(%rdi,%rax,1)
   26ee6:	movupd %xmm0,0xc0(%rdi,%rcx,1)
   26eef:	movupd %xmm3,0xd0(%rdi,%rcx,1)
   26ef8:	movupd %xmm1,0xc0(%rdi,%rdx,1)
   26f01:	movupd %xmm2,0xd0(%rdi,%rdx,1)
   26f0a:	add    $0x160,%rsp
   26f11:	pop    %rbx
   26f12:	ret
   26f13:	movsd  0xb0(%r11,%rcx,1),%xmm5
   26f1d:	unpcklpd %xmm5,%xmm3
   26f21:	movapd %xmm3,%xmm7
   26f25:	movupd %xmm4,0xc0(%rdi,%rax,1)
   26f2e:	movupd %xmm0,0xd0(%rdi,%rax,1)
   26f37:	movupd %xmm6,0xc0(%rdi,%rcx,1)
   26f40:	movupd %xmm7,0xd0(%rdi,%rcx,1)
   26f49:	movupd %xmm1,0xc0(%rdi,%rdx,1)
   26f52:	movupd %xmm8,0xd0(%rdi,%rdx,1)
   26f5c:	movupd %xmm2,0xc0(%rdi,%r8,1)
   26f66:	movupd %xmm9,0xd0(%rdi,%r8,1)
   26f70:	add    $0x160,%rsp
   26f77:	pop    %rbx
   26f78:	ret
   26f79:	mov    %rcx,%rax
   26f7c:	lea    0x7fe15(%rip),%rdx        # a6d98 <anon.9e0a2038ed987258c1d7fe472a5cd920.204.llvm.5521524273661284794+0x18>
   26f83:	mov    $0x4,%esi
   26f88:	mov    %rax,%rdi
   26f8b:	call   *0x83e47(%rip)        # aadd8 <_DYNAMIC+0x2e0>
   26f91:	mov    %rdx,%rax
   26f94:	lea    0x7fdfd(%rip),%rdx        # a6d98 <anon.9e0a2038ed987258c1d7fe472a5cd920.204.llvm.5521524273661284794+0x18>
   26f9b:	mov    $0x4,%esi
   26fa0:	mov    %rax,%rdi
   26fa3:	call   *0x83e2f(%rip)        # aadd8 <_DYNAMIC+0x2e0>
   26fa9:	mov    %r8,%rax
   26fac:	lea    0x7fde5(%rip),%rdx        # a6d98 <anon.9e0a2038ed987258c1d7fe472a5cd920.204.llvm.5521524273661284794+0x18>
   26fb3:	mov    $0x4,%esi
   26fb8:	mov    %rax,%rdi
   26fbb:	call   *0x83e17(%rip)        # aadd8 <_DYNAMIC+0x2e0>
   26fc1:	int3
   26fc2:	int3
   26fc3:	int3
   26fc4:	int3
   26fc5:	int3
   26fc6:	int3
   26fc7:	int3
   26fc8:	int3
   26fc9:	int3
   26fca:	int3
   26fcb:	int3
   26fcc:	int3
   26fcd:	int3
   26fce:	int3
   26fcf:	int3

