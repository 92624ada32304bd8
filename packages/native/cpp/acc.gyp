{
  "variables": {
    "acc_torch_include%": "",
    "acc_torch_lib%": "",
    "acc_node_addon_api%": "",
    "acc_nccl_includes%": ""
  },
  "target_defaults": {
    "cflags_cc": ["-std=c++20", "-O2", "-ftree-vectorize", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"],
    "conditions": [
      # at::parallel_for is a loop on one thread in code that is compiled without OpenMP. Its runtime is
      # the one that libtorch has loaded.
      ["OS=='linux'", { "cflags_cc": ["-include", "<(module_root_dir)/cpp/portable/glibc_2_28.h", "-fopenmp"] }]
    ],
    "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17"],
    "xcode_settings": {
      "CLANG_CXX_LANGUAGE_STANDARD": "c++20",
      "GCC_ENABLE_CPP_EXCEPTIONS": "YES",
      "GCC_ENABLE_CPP_RTTI": "YES"
    }
  },
  "targets": [
    { "target_name": "acc_loader", "sources": ["cpp/loader/loader.cpp", "cpp/portable/glibc_2_28.cpp"], "include_dirs": ["cpp"], "libraries": ["-ldl"] },
    {
      "target_name": "acc_native",
      "sources": [
        "cpp/portable/glibc_2_28.cpp",
        "cpp/unit_product.cpp",
        "cpp/unit_tensors.cpp",
        "cpp/unit_distributed.cpp",
        "cpp/unit_shm.cpp"
      ],
      "include_dirs": ["cpp", "cpp/gloo_headers", "<(acc_node_addon_api)"],
      "defines": [
        "NAPI_VERSION=9",
        "NODE_ADDON_API_DISABLE_DEPRECATED",
        "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS",
        "USE_DISTRIBUTED",
        "USE_C10D_GLOO"
      ],
      "cflags_cc": ["-isystem", "<(acc_torch_include)", "-isystem", "<(acc_torch_include)/torch/csrc/api/include"],
      "xcode_settings": {
        "OTHER_CPLUSPLUSFLAGS": [
          "-isystem", "<(acc_torch_include)", "-isystem", "<(acc_torch_include)/torch/csrc/api/include"
        ]
      },
      "libraries": ["-L<(acc_torch_lib)", "-ltorch_cpu", "-lc10"],
      "conditions": [
        ["acc_nccl_includes!=''", {
          "sources": ["cpp/unit_nccl.cpp"],
          "defines": ["ACC_HAS_NCCL", "USE_C10D_NCCL"],
          "include_dirs": ["<!@(echo <(acc_nccl_includes))"],
          "libraries": ["-ltorch_cuda", "-lc10_cuda"]
        }]
      ]
    }
  ]
}
