from django.urls import include, path

urlpatterns = [
    # first, since addresses are tried in order: one look tells that an address is none of these
    path("api/v1/", include("annotation.api.routes")),
    path("api/v1/", include("readerstudy.api.routes")),
    path("", include("annotation.urls")),
    path("", include("readerstudy.urls")),
]

handler400 = "annotation.views.site.errors.bad_request"
handler403 = "annotation.views.site.errors.forbidden"
handler404 = "annotation.views.site.errors.not_found"
handler500 = "annotation.views.site.errors.server_error"
