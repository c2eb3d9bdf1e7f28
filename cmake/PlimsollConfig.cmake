# find_package(Plimsoll) gives the target Plimsoll::plimsoll.
include(CMakeFindDependencyMacro)
set(plimsoll_module_path ${CMAKE_MODULE_PATH})
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_dependency(Threads)
find_dependency(ZLIB)
find_dependency(PlimsollLibraries)
set(CMAKE_MODULE_PATH ${plimsoll_module_path})
include(${CMAKE_CURRENT_LIST_DIR}/PlimsollTargets.cmake)
